//! `kiln live init`: names the inventory of a package in a ResourceGroup. Nothing is sent to a cluster.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Error, Result, anyhow};
use clap::Args;
use kiln_functions::is_cluster_scoped;
use kiln_krm::annotations::LOCAL_CONFIG;
use kiln_krm::package::{FileAction, FileChange, ListOptions, Subpackages};
use kiln_package::{ApplyOptions, NewFiles};
use kiln_task::pkg::{ExistingInventory, InventoryError, NewInventory, PkgRules, resource_group};
use sha1::{Digest, Sha1};

use super::kubectl_flags::KubectlFlags;
use super::typed;
use crate::compat::Compat;
use crate::error::{CommandError, bail_usage};
use crate::package::write::write;
use crate::package::{self, Location, absolute};
use crate::rpkg::directory;
use crate::ui::Ui;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  kiln live init app")]
#[command(override_usage = "kiln live init [OPTIONS] [PKG_PATH]")]
pub(super) struct LiveInitArgs {
    /// Directory of the package. Default: the current directory
    #[arg(value_name = "PKG_PATH")]
    package: Option<String>,
    /// kpt ignores more arguments.
    #[arg(hide = true)]
    more: Vec<String>,
    /// Name of the inventory object. Default: a random one
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    name: String,
    /// Identity of the inventory. Default: one made of namespace, name and time
    #[arg(long, value_name = "ID", default_value = "", hide_default_value = true)]
    inventory_id: String,
    /// Namespace of the inventory object. Default: the one of all resources, else that of the current context
    #[arg(short, long, value_name = "NAMESPACE")]
    namespace: Option<String>,
    /// File of the inventory
    #[arg(long, value_name = "FILE", default_value = "resourcegroup.yaml")]
    rg_file: String,
    /// Replace an existing inventory
    #[arg(long)]
    force: bool,
    /// Print errors only
    #[arg(long)]
    quiet: bool,
}

pub(super) fn cmd_live_init(ui: &Ui, args: &LiveInitArgs, kubectl: &KubectlFlags) -> Result<()> {
    if let (Some(extra), Compat::Kiln) = (args.more.first(), ui.compat()) {
        bail_usage!("unexpected argument {extra:?}: `kiln live init` takes one directory");
    }
    if args.rg_file.contains('/') || matches!(args.rg_file.as_str(), "" | "." | "..") {
        bail_usage!("rg-file must be a valid filename");
    }
    let named = args.package.as_deref().unwrap_or(".");
    if !Path::new(named).is_dir() {
        return Err(typed(ui, &format!("invalid directory argument: {named}")));
    }
    let path = absolute(named)?;
    let namespace = match &args.namespace {
        Some(namespace) => namespace.clone(),
        // The resources behind a link count, as for kpt.
        None => {
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            // An unusable configuration is an error even if the resources have a namespace.
            let of_context = kubectl.context_namespace(ui)?;
            common_namespace(ui, &path)?.unwrap_or(of_context)
        }
    };
    let name = match args.name.as_str() {
        "" => format!(
            "inventory-{:08}",
            RandomState::new().build_hasher().finish() % 100_000_000
        ),
        name => name.to_owned(),
    };
    let id = match args.inventory_id.as_str() {
        "" => new_id(&namespace, &name),
        id => id.to_owned(),
    };
    let rules = match ui.compat() {
        Compat::Kiln => PkgRules::Kiln,
        Compat::Kpt | Compat::KptV039 => PkgRules::Kpt,
    };
    let existing = match args.force {
        true => ExistingInventory::Replace,
        false => ExistingInventory::Refuse,
    };
    let progress = format!(
        "initializing {:?} data (namespace: {namespace})...",
        args.rg_file
    );
    let contents = directory::read(&path)?;
    let inventory = NewInventory {
        name,
        namespace,
        id,
    };
    let shown = path.display().to_string();
    let files = resource_group(
        &contents,
        &args.rg_file,
        &inventory,
        existing,
        &shown,
        rules,
    );
    if !args.quiet {
        let outcome = if files.is_ok() { "success" } else { "failed" };
        ui.print_message(&format!("{progress}{outcome}"));
    }
    let files = files.map_err(|error| inventory_error(ui, &error))?;
    let changes: Vec<FileChange> = files
        .into_iter()
        .map(|(path, text)| FileChange {
            path,
            action: FileAction::Write(text),
        })
        .collect();
    let options = ApplyOptions {
        new_files: match rules {
            PkgRules::Kiln => NewFiles::Umask,
            PkgRules::Kpt => NewFiles::Private,
        },
        ..ApplyOptions::default()
    };
    write(ui, &path, None, &changes, options)
}

fn inventory_error(ui: &Ui, error: &InventoryError) -> Error {
    let own = ui.compat() == Compat::Kiln;
    match error {
        InventoryError::Kptfile(error) if own => anyhow!("{error}"),
        InventoryError::Kptfile(error) => CommandError::new(format!("{error} ")).into(),
        InventoryError::InKptfile | InventoryError::InResourceGroup if own => {
            let hint = "pass --force to replace it; the cluster then no longer knows which objects belong to the package";
            CommandError::with_hint(anyhow!("the package has an inventory already"), hint).into()
        }
        // kpt prints blank lines around these.
        error => CommandError::new(format!("\nError: {error}\n ")).into(),
    }
}

/// A unique identity, made as kpt makes it.
fn new_id(namespace: &str, name: &str) -> String {
    let hash = Sha1::digest(format!("{namespace}:{name}"));
    let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    format!("{hash}-{}", since.map_or(0, |since| since.as_nanos()))
}

/// The namespace of all resources; `None` if they do not have the same.
fn common_namespace(ui: &Ui, path: &Path) -> Result<Option<String>> {
    let location = Location::at(path.to_owned(), &path.display().to_string())?;
    let list = ListOptions {
        names: vec!["*.yaml".to_owned(), "*.yml".to_owned()],
        subpackages: Subpackages::Ordinary,
    };
    let resources = package::read(ui, &location, &list)?;
    let mut common: Option<&str> = None;
    for resource in &resources {
        if resource.annotation(LOCAL_CONFIG).is_some()
            || is_cluster_scoped(resource.api_version(), resource.kind())
        {
            continue;
        }
        match (resource.namespace(), common) {
            ("", _) => return Ok(None),
            (namespace, None) => common = Some(namespace),
            (namespace, Some(other)) if namespace != other => return Ok(None),
            _ => {}
        }
    }
    Ok(common.map(str::to_owned))
}
