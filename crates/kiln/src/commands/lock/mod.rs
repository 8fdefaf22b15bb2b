//! `kiln lock`: writes, checks and proves `kiln.lock`, and moves its images between machines.

mod archive;
mod check;
mod prove;
mod write;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use clap::Args;
use kiln_evaluators::WasmPrograms;
use kiln_krm::kptfile::Function;
use kiln_lock::{FunctionLock, LOCK_FILE, LockKey};
use kiln_package::{Access, DiskFiles};

use crate::compat::Compat;
use crate::error::{CommandError, ErrorClass, bail_usage};
use crate::functions::evaluators::{ContainerFlags, EvaluatorFlags, EvaluatorSetup};
use crate::functions::lock::{declared_functions, read_lock};
use crate::package::{self, absolute, checked_kptfiles, package_directory};
use crate::ui::Ui;

/// Write kiln.lock: the exact versions of the functions of a package
///
/// Adds the functions that the file does not have, and removes those that no Kptfile of the package and its sub-packages names.
/// Other entries stay as they are.
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
        \x20 kiln lock\n\
        \x20 kiln lock app --update set-namespace\n\
        \x20 kiln lock --check --outdated\n\
        \x20 kiln lock --digests && kiln lock --prove\n\
        \x20 kiln lock --export images.tar")]
pub(crate) struct LockArgs {
    /// Package. Default: the current directory
    #[arg(default_value = "", hide_default_value = true)]
    dir: String,
    /// Resolve functions again, and print what changed: all, or those that you name
    #[arg(long, value_name = "NAME", num_args = 0.., group = "action")]
    update: Option<Vec<String>>,
    /// Write nothing, and fail if entries are missing or superfluous
    #[arg(long, group = "action")]
    check: bool,
    /// With --check, fail also if a range of versions has a newer one
    #[arg(long, requires = "check")]
    outdated: bool,
    /// Run each built-in function and its image on the package, and fail if their results differ
    #[arg(long, group = "action")]
    prove: bool,
    /// Write the images of the lock file to an OCI archive
    #[arg(long, value_name = "FILE", group = "action")]
    export: Option<PathBuf>,
    /// Add the images of such an archive to the store
    #[arg(long, value_name = "FILE", group = "action")]
    import: Option<PathBuf>,
    /// Look up the digests of images that built-in functions run in place of
    #[arg(long, conflicts_with_all = ["check", "prove", "export", "import"])]
    digests: bool,
    /// With --prove, allow functions that run programs on this machine
    #[arg(long, requires = "prove")]
    allow_exec: bool,
    #[command(flatten)]
    evaluators: EvaluatorFlags,
}

/// A package with its lock file.
struct LockedPackage {
    root: PathBuf,
    /// Its name on the command line.
    named: String,
    files: DiskFiles,
    setup: EvaluatorSetup,
    /// `None` if there is no file.
    lock: Option<FunctionLock>,
    declared: BTreeMap<LockKey, Function>,
}

pub(crate) fn cmd_lock(ui: &Ui, args: &LockArgs) -> Result<()> {
    if ui.compat() != Compat::Kiln {
        bail_usage!("lock is not a command of kpt; it needs --compat=kiln");
    }
    let package = LockedPackage::open(ui, args)?;
    if args.check {
        return check::check(ui, args, &package);
    }
    if args.prove {
        return prove::prove(ui, args, &package);
    }
    match (&args.export, &args.import) {
        (Some(file), _) => archive::export(ui, file, &package),
        (_, Some(file)) => archive::import(ui, file, &package),
        _ => write::write(ui, args, &package),
    }
}

impl LockedPackage {
    fn open(ui: &Ui, args: &LockArgs) -> Result<LockedPackage> {
        let named = package_directory(ui, &args.dir)?;
        let root = absolute(&named)?;
        let container = ContainerFlags::default();
        let setup = args.evaluators.check(ui, container, WasmPrograms::All)?;
        let files = DiskFiles::open(&root, ui.compat().outside_links())
            .with_context(|| format!("cannot open {}", root.display()))?;
        drop(package::lock(ui, &root, Access::Read)?);
        let lock = read_lock(&files, &named)?;
        let declared = declared_functions(checked_kptfiles(&files, &named)?, &setup);
        Ok(LockedPackage {
            root,
            named,
            files,
            setup,
            lock,
            declared,
        })
    }

    /// The lock file, which the action needs.
    fn existing_lock(&self) -> Result<&FunctionLock> {
        self.lock.as_ref().ok_or_else(|| {
            let error = CommandError {
                class: ErrorClass::Input,
                hint: Some("run `kiln lock` first".to_owned()),
                ..CommandError::new(format!("error: the package has no {LOCK_FILE}"))
            };
            error.into()
        })
    }
}
