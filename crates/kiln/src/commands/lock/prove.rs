//! `kiln lock --prove`: each built-in function against the image that it runs in place of, on the package's own resources.
//!
//! The package is rendered in memory. Where a built-in function runs, the image of the digest runs on the same input. Values,
//! results and exit codes are compared; comments and the style of YAML are not, because kiln restores them. A difference is shown
//! without the values of Secrets, because it is meant for logs and reports.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow};
use kiln_evaluators::{NATIVE, by_digest};
use kiln_krm::annotations::TRANSIENT;
use kiln_krm::read::read_function_output;
use kiln_krm::record::UnknownKeys;
use kiln_krm::secrets::{SecretMask, SecretValues};
use kiln_krm::{Dialect, ResourceList};
use kiln_lock::{FunctionLock, LOCK_FILE};
use kiln_render::{FunctionOptions, Jobs, PinnedImage, Pins, RenderOptions, Silent, render};
use kiln_runtime::{
    Evaluator, EvaluatorChain, FindError, Found, FunctionSpec, Input, Network, Outcome, Output,
    RunContext, RunError, Runner, Target,
};
use kiln_yaml::{Document, SequenceStyle};
use similar::TextDiff;

use super::{LockArgs, LockedPackage};
use crate::error::render::RenderErrors;
use crate::error::{CommandError, ErrorClass};
use crate::functions::lock::pinned_image;
use crate::ui::Ui;

pub(super) fn prove(ui: &Ui, args: &LockArgs, package: &LockedPackage) -> Result<()> {
    let lock = package.existing_lock()?;
    check_digests(package, lock)?;
    let prover = Prover {
        chain: package.setup.evaluators().clone(),
        proof: Arc::default(),
    };
    let root = package.root.to_str();
    let root = root.ok_or_else(|| anyhow!("the name of the package is not UTF-8"))?;
    let options = RenderOptions {
        functions: FunctionOptions {
            evaluator: &prover,
            pins: Some(&LockPins(lock)),
            ..package.setup.options(Network::None)
        },
        root,
        working_directory: root,
        allow_exec: args.allow_exec,
        jobs: Jobs::ONE,
        attribution: false,
        unknown_fields: UnknownKeys::Refuse,
    };
    let errors = RenderErrors {
        compat: ui.compat(),
        files: &package.files,
        root,
        named: &package.named,
        evaluators: Some(&package.setup),
    };
    let rendered = render(&package.files, &options, &Silent);
    let proof = prover.proof.lock().unwrap_or_else(PoisonError::into_inner);
    // Before the error of the render, which an image that cannot be run causes.
    if let Some(problem) = &proof.not_run {
        let error = CommandError {
            class: ErrorClass::Unavailable,
            hint: Some("`kiln doctor` shows how images can run on this machine".to_owned()),
            ..CommandError::new(format!("error: {problem}"))
        };
        return Err(error.into());
    }
    for difference in &proof.differences {
        ui.write_data(difference.as_bytes())?;
    }
    if !proof.differences.is_empty() {
        let error = CommandError {
            class: ErrorClass::Function,
            hint: Some("run the image with --no-native, and report the difference".to_owned()),
            ..CommandError::new(format!(
                "error: {} of {} calls of built-in functions differ from their images",
                proof.differences.len(),
                proof.calls
            ))
        };
        return Err(error.into());
    }
    let rendered = rendered.map_err(|error| errors.command_error(&error))?;
    if let Some(error) = &rendered.report.error {
        return Err(errors.command_error(error));
    }
    ui.print_message(&format!(
        "{} call(s) of built-in functions have the results of their images.",
        proof.calls
    ));
    Ok(())
}

/// A function without a digest cannot be proven.
fn check_digests(package: &LockedPackage, lock: &FunctionLock) -> Result<()> {
    let has_digest = |key| {
        let locked = lock.functions.get(key);
        locked.is_some_and(|locked| locked.digest.is_some())
    };
    let missing: Vec<String> = package
        .declared
        .keys()
        .filter(|key| !has_digest(*key))
        .map(ToString::to_string)
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let error = CommandError {
        class: ErrorClass::Input,
        hint: Some("run `kiln lock --digests`".to_owned()),
        ..CommandError::new(format!(
            "error: {LOCK_FILE} has no digest of the image for: {}",
            missing.join(", ")
        ))
    };
    Err(error.into())
}

struct LockPins<'a>(&'a FunctionLock);

impl Pins for LockPins<'_> {
    fn of(&self, image: &str, tag: &str) -> Option<PinnedImage> {
        pinned_image(self.0, image, tag)
    }
}

/// What the calls of built-in functions showed.
#[derive(Default)]
struct Proof {
    calls: usize,
    /// A diff for each call that differed.
    differences: Vec<String>,
    /// Why an image could not be run.
    not_run: Option<String>,
}

/// Runs built-in functions together with their images.
struct Prover {
    chain: EvaluatorChain,
    proof: Arc<Mutex<Proof>>,
}

impl Evaluator for Prover {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let (search, found) = self.chain.search(function)?;
        if search.evaluator() != NATIVE {
            return self.chain.find(function);
        }
        let image = self.chain.find(&image_only(function))?;
        Ok(Found::blocking(ProvingRunner {
            function: function.name().to_owned(),
            native: found.into_runner(),
            image: image.into_runner(),
            proof: Arc::clone(&self.proof),
        }))
    }
}

/// The function by its digest, which no built-in function has.
fn image_only(function: &FunctionSpec) -> FunctionSpec {
    let digest = function.pin.as_ref().and_then(|pin| pin.digest.as_deref());
    let image = digest.and_then(|digest| by_digest(function.name(), digest));
    let target = image.map_or_else(|| function.target.clone(), Target::Image);
    FunctionSpec {
        target,
        pin: None,
        ..function.clone()
    }
}

struct ProvingRunner {
    function: String,
    native: Arc<dyn Runner>,
    image: Arc<dyn Runner>,
    proof: Arc<Mutex<Proof>>,
}

impl Runner for ProvingRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        let native = self.native.run(input, ctx)?;
        let image = self.image.run(input, ctx);
        let mut secrets = SecretValues::default();
        let documents = input.items().iter().map(|item| item.document());
        for document in documents.chain(input.function_config()) {
            secrets.add_document(document);
        }
        let mut proof = self.proof.lock().unwrap_or_else(PoisonError::into_inner);
        match image {
            Ok(image) => {
                proof.calls += 1;
                let difference = difference(&self.function, &native, image, secrets);
                proof.differences.extend(difference);
                Ok(native)
            }
            Err(error) => {
                let reason = kiln_go::error_chain(&error);
                let reason = secrets.into_mask().mask(&reason);
                let problem = format!("the image of {} was not run: {reason}", self.function);
                proof.not_run.get_or_insert(problem);
                Err(error)
            }
        }
    }
}

/// The difference between two outcomes as a diff; `None` if there is none.
fn difference(
    function: &str,
    native: &Outcome,
    image: Outcome,
    mut secrets: SecretValues,
) -> Option<String> {
    let (exit_native, exit_image) = (native.exit_text(), image.exit_text());
    let native = list(native.output.clone());
    let image = list(image.output);
    let is_equal = match (&native, &image) {
        (Ok(native), Ok(image)) => is_equal(native, image),
        _ => false,
    };
    if is_equal && exit_native == exit_image {
        return None;
    }
    for list in [&native, &image].into_iter().flatten() {
        for item in &list.items {
            secrets.add_document(item.document());
        }
    }
    let text = |exit: &str, list: &Result<ResourceList, String>, hidden: &[&str]| match list {
        Ok(list) => format!("# {exit}\n{}", list_text(list, hidden)),
        Err(error) => format!("# {exit}\n# the output cannot be read: {error}\n"),
    };
    let texts = |hidden: &[&str]| {
        let native = text(&exit_native, &native, hidden);
        (text(&exit_image, &image, hidden), native)
    };
    let mut shown = texts(&TRANSIENT);
    if shown.0 == shown.1 {
        shown = texts(&[]);
    }
    let header = (
        format!("image of {function}"),
        format!("built-in {function}"),
    );
    Some(diff(&header, &shown, &secrets.into_mask()))
}

fn diff(header: &(String, String), texts: &(String, String), secrets: &SecretMask) -> String {
    let diff = TextDiff::from_lines(&texts.0, &texts.1);
    let diff = diff.unified_diff().header(&header.0, &header.1).to_string();
    secrets.mask(&diff)
}

fn list(output: Output) -> Result<ResourceList, String> {
    match output {
        Output::List(list) => Ok(list),
        Output::Wire(bytes) => {
            let list = read_function_output(bytes.into(), Dialect::Current);
            list.map_err(|error| error.to_string())
        }
    }
}

fn is_equal(one: &ResourceList, other: &ResourceList) -> bool {
    let mut items = one.items.iter().zip(&other.items);
    one.items.len() == other.items.len()
        && items.all(|(one, other)| one.root().value_eq(other.root()))
        && match (results(one), results(other)) {
            (Some(one), Some(other)) => one.root().value_eq(other.root()),
            (one, other) => one.is_none() && other.is_none(),
        }
}

/// The results; an empty list is the same as none.
fn results(list: &ResourceList) -> Option<&Document> {
    let results = list.results.as_ref();
    results.filter(|results| results.root().items().next().is_some())
}

/// The items and the results, without some annotations.
fn list_text(list: &ResourceList, hidden: &[&str]) -> String {
    let items = list.items.iter().map(|item| {
        let mut document = item.document().clone();
        // What has no annotations stays as it is.
        let _ = document.root_mut().clear_annotations(hidden);
        document
    });
    let documents = items.chain(results(list).cloned());
    let texts = documents.map(|document| kiln_yaml::to_string(&document, SequenceStyle::Compact));
    texts.collect::<Vec<_>>().join("---\n")
}
