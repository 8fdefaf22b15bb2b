//! `kiln policy check`

use anyhow::{Context, Result};
use clap::Args;
use kiln_functions::registry::Registry;
use kiln_krm::image::with_prefix;
use kiln_krm::kptfile::Function;
use kiln_lock::{FunctionLock, LOCK_FILE};
use kiln_package::DiskFiles;
use kiln_policy::{Explanation, Policy, RequiredSignature, RunWay, canonical_image};
use kiln_render::{GENERATE_PACKAGE_CONTEXT, PinnedImage};
use kiln_runtime::{FunctionIdentity, FunctionSpec};
use serde_json::{Value, json};

use crate::error::{CommandError, ErrorClass};
use crate::functions::flags::checked_prefix;
use crate::functions::lock::{pinned_image, read_lock};
use crate::functions::policy::PolicyFlags;
use crate::package::{absolute, checked_kptfiles, package_directory};
use crate::rpkg::output::OutputArgs;
use crate::rpkg::table::table;
use crate::ui::Ui;

/// Show how the functions of a package may run, and which rules decide
///
/// Reads the package and its sub-packages, and runs nothing. Fails if a function would be refused.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  kiln policy check\n  kiln policy check app --policy policy.yaml"
)]
pub(super) struct CheckArgs {
    /// Package. Default: the current directory
    #[arg(default_value = "", hide_default_value = true)]
    dir: String,
    #[command(flatten)]
    policy: PolicyFlags,
    /// Prefix for image names without a registry [env: KPT_IMAGE_PREFIX]
    #[arg(long, value_name = "PREFIX", allow_hyphen_values = true)]
    image_prefix: Option<String>,
    #[command(flatten)]
    output: OutputArgs,
}

const HEADER: [&str; 5] = ["PACKAGE", "FUNCTION", "MAY RUN AS", "DECIDED BY", "WHY"];

/// A function of a package, and what the policy says about it.
struct CheckedFunction {
    /// The directory of the package.
    package: String,
    function: String,
    ways: Vec<RunWay>,
    /// What decides, with file and line.
    deciders: Vec<String>,
    /// Why it is refused, or that it is warned about.
    reason: String,
}

pub(super) fn cmd_check(ui: &Ui, args: &CheckArgs) -> Result<()> {
    let prefix = checked_prefix(args.image_prefix.as_deref())?;
    let named = package_directory(ui, &args.dir)?;
    let root = absolute(&named)?;
    let files = DiskFiles::open(&root, ui.compat().outside_links())
        .with_context(|| format!("cannot open {}", root.display()))?;
    let kptfiles = checked_kptfiles(&files, &named)?;
    let policy = args.policy.load(ui)?.map(|policy| policy.current());
    if policy.is_none() {
        ui.print_message("No policy applies: all functions may run.");
    }
    let policy = policy.unwrap_or_default();
    let lock = read_lock(&files, &named)?.unwrap_or_default();
    let mut checked = Vec::new();
    for (package, kptfile) in &kptfiles {
        let pipeline = kptfile.pipeline.iter();
        let functions = pipeline.flat_map(|it| it.mutators.iter().chain(&it.validators));
        let functions = functions.map(|function| {
            let locked = locked_image(&lock, function, &prefix);
            check(&policy, package, function, &prefix, locked)
        });
        checked.extend(functions);
    }
    print(ui, args, &checked)?;
    let refused = checked.iter().filter(|it| it.ways.is_empty()).count();
    if refused == 0 {
        return Ok(());
    }
    let error = CommandError {
        class: ErrorClass::Policy,
        hint: Some("change the functions, or the rules that decide about them".to_owned()),
        ..CommandError::new(format!(
            "error: the policy refuses {refused} of {} functions",
            checked.len()
        ))
    };
    Err(error.into())
}

/// What the lock file says about a function, if its entry is for this prefix.
fn locked_image(lock: &FunctionLock, function: &Function, prefix: &str) -> Option<PinnedImage> {
    let locked = pinned_image(lock, &function.image, &function.tag)?;
    let repository = |image: &str| canonical_image(image).map(|image| image.repository);
    let declared = repository(&with_prefix(prefix, &function.image)).ok()?;
    (repository(&locked.resolved).ok()? == declared).then_some(locked)
}

fn check(
    policy: &Policy,
    package: &str,
    function: &Function,
    prefix: &str,
    locked: Option<PinnedImage>,
) -> CheckedFunction {
    let package = match package {
        "" => ".".to_owned(),
        package => package.to_owned(),
    };
    if function.image == GENERATE_PACKAGE_CONTEXT {
        return CheckedFunction {
            package,
            function: function.image.clone(),
            ways: vec![RunWay::Native],
            deciders: Vec::new(),
            reason: "it is part of kiln".to_owned(),
        };
    }
    // Why the lock file lets nothing run, if it is not the policy that refuses.
    let mut lock_gap = String::new();
    let (name, explanation, is_built_in) = match (locked, function.image.as_str()) {
        (Some(PinnedImage { resolved, pin }), _) => {
            let own = Registry::builtin().identity(&resolved);
            let own = own.as_ref().map(FunctionIdentity::as_str);
            let own = own.and_then(|identity| identity.strip_prefix("native:"));
            let is_built_in = pin.native.is_some() && pin.native.as_deref() == own;
            let has_digest = pin.digest.is_some();
            lock_gap = match &pin.native {
                Some(native) if !is_built_in => format!(
                    "{LOCK_FILE} names the built-in function {native}, which this kiln does not have"
                ),
                _ => format!("{LOCK_FILE} has no digest of the image, so no other way can run it"),
            };
            let function = FunctionSpec {
                pin: Some(pin),
                ..FunctionSpec::image(resolved.as_str())
            };
            let mut explanation = policy.explain(&function);
            // Without a digest, the lock file lets no image run, and no other function in place of it.
            let can_run = |way: &RunWay| match way.runs_image() {
                true => has_digest,
                false => has_digest || is_built_in,
            };
            explanation.ways.retain(can_run);
            (resolved, explanation, is_built_in)
        }
        (None, "") => {
            let explanation = policy.explain(&FunctionSpec::exec(function.exec.as_str()));
            (function.exec.clone(), explanation, false)
        }
        (None, image) => {
            let image = with_prefix(prefix, image);
            let registry = Registry::builtin();
            match function.tag.as_str() {
                "" => {
                    let explanation = policy.explain(&FunctionSpec::image(image.as_str()));
                    let is_built_in = registry.find_image(&image).is_some();
                    (image, explanation, is_built_in)
                }
                // It replaces tag and digest of the image, and may be a range.
                tag => {
                    let repository = canonical_image(&image).map(|image| image.repository);
                    let repository = repository.unwrap_or_else(|_| image.clone());
                    let explanation = policy.explain(&FunctionSpec::image(repository));
                    let is_built_in = registry.function_of_image(&image).is_some();
                    (format!("{image} ({tag})"), explanation, is_built_in)
                }
            }
        }
    };
    let Explanation {
        deciders,
        mut ways,
        refusal,
        signatures,
        warning,
        ..
    } = explanation;
    let mut reason = match (&refusal, warning) {
        (Some(refusal), _) => refusal.reason.to_string(),
        (None, _) if ways.is_empty() => lock_gap,
        (None, Some(_)) => "no rule matches: it runs with a warning".to_owned(),
        (None, None) => String::new(),
    };
    if reason.is_empty() && !signatures.is_empty() {
        let keys = signatures.iter().map(RequiredSignature::key_names);
        let keys: Vec<String> = keys.collect();
        reason = format!("an image must be signed: {}", keys.join(", "));
    }
    if ways == [RunWay::Native] && !is_built_in {
        reason = "it may only run as a built-in function, and is not one".to_owned();
    }
    ways.retain(|way| *way != RunWay::Native || is_built_in);
    let deciders = deciders
        .into_iter()
        .map(|(what, place)| format!("{what} ({place})"));
    CheckedFunction {
        package,
        function: name,
        ways,
        deciders: deciders.collect(),
        reason,
    }
}

fn print(ui: &Ui, args: &CheckArgs, checked: &[CheckedFunction]) -> Result<()> {
    if let Some(format) = args.output.format() {
        let objects = checked.iter().map(object).collect();
        return args.output.print(ui, format, objects, true);
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    if args.output.has_headers() {
        rows.push(HEADER.map(str::to_owned).to_vec());
    }
    rows.extend(checked.iter().map(|it| {
        vec![
            it.package.clone(),
            it.function.clone(),
            match it.ways.is_empty() {
                true => "refused".to_owned(),
                false => names(it).join(","),
            },
            it.deciders.join("; "),
            it.reason.clone(),
        ]
    }));
    ui.write_data(table(&rows).as_bytes())
}

fn names(checked: &CheckedFunction) -> Vec<&'static str> {
    checked.ways.iter().map(|way| way.name()).collect()
}

fn object(checked: &CheckedFunction) -> Value {
    json!({
        "metadata": {"name": checked.function},
        "package": checked.package,
        "isRefused": checked.ways.is_empty(),
        "ways": names(checked),
        "deciders": checked.deciders,
        "reason": checked.reason,
    })
}
