//! The flags of `kiln fn eval` and their checks.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use clap::Args;
use clap_complete::ArgValueCompleter;
use kiln_container::Mount;
use kiln_krm::image::{ImageRef, with_prefix};
use kiln_krm::kptfile::{FunctionKind, Selector};
use kiln_krm::selector::parse_pair;
use kiln_runtime::{Network, Target};
use kiln_yaml::Document;

use crate::complete;
use crate::error::bail_usage;
use crate::flag_values::go_bool;
use crate::functions::evaluators::{ContainerFlags, EvaluatorFlags};
use crate::report::run_report::ReportFlags;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
        \x20 kiln fn eval app -i set-namespace:v0.4.1 -- namespace=prod\n\
        \x20 kiln fn eval app --exec ./my-function.py --match-kind Deployment\n\
        \x20 kiln fn eval app -i set-labels:v0.2.0 --save -t mutator -- env=prod")]
#[command(override_usage = "kiln fn eval [OPTIONS] [DIR | -] [-- KEY=VALUE...]")]
pub(crate) struct EvalArgs {
    /// Package, or `-` for standard input. Default: the current directory
    #[arg(value_name = "DIR")]
    pub(super) dirs: Vec<String>,
    /// Data of the functionConfig: `KEY=VALUE`; the first argument may be a kind instead
    #[arg(last = true, value_name = "KEY=VALUE")]
    pub(super) data: Vec<String>,
    /// Image to run
    #[arg(
        short,
        long,
        value_name = "IMAGE",
        default_value = "",
        hide_default_value = true,
        add = ArgValueCompleter::new(complete::functions)
    )]
    image: String,
    /// Version, or range of versions, to save with the image
    #[arg(
        long,
        value_name = "TAG",
        default_value = "",
        hide_default_value = true
    )]
    pub(super) tag: String,
    /// Program to run, with its arguments
    #[arg(
        long,
        value_name = "COMMAND",
        default_value = "",
        hide_default_value = true
    )]
    pub(super) exec: String,
    /// File with one resource to pass as functionConfig
    #[arg(
        long,
        value_name = "FILE",
        default_value = "",
        hide_default_value = true
    )]
    pub(super) fn_config: String,
    /// List of the Kptfile to save the function to: `mutator` or `validator`
    #[arg(
        short = 't',
        long = "type",
        value_name = "TYPE",
        default_value = "",
        hide_default_value = true
    )]
    kind: String,
    /// Save the function to the package's Kptfile
    #[arg(short, long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    save: Option<bool>,
    /// Where to write: `stdout` for a ResourceList, `unwrap` for plain documents, `objects` for the resources to apply (no
    /// Kptfiles, configurations of functions and local-config), or a new directory. Default: in place
    #[arg(
        short,
        long,
        value_name = "WHERE",
        default_value = "",
        hide_default_value = true
    )]
    pub(super) output: String,
    /// Directory for results.yaml with the results of the function
    #[arg(
        long,
        value_name = "DIR",
        default_value = "",
        hide_default_value = true
    )]
    pub(super) results_dir: String,
    /// Give the container access to the network
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    network: Option<bool>,
    /// Mount a directory or file into the container: type=bind,src=PATH,dst=PATH[,rw=true]
    #[arg(long = "mount", value_name = "MOUNT")]
    pub(super) mounts: Vec<String>,
    /// Environment variable for the container: `NAME=VALUE`, or `NAME` to pass on its current value
    #[arg(short, long = "env", value_name = "NAME")]
    pub(super) env: Vec<String>,
    /// Run the container as the current user
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    as_current_user: Option<bool>,
    /// Refused: meta resources are always included
    #[arg(short = 'm', long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "true", value_parser = go_bool)]
    include_meta_resources: Option<bool>,
    #[command(flatten)]
    selection: SelectionArgs,
    #[command(flatten)]
    pub(super) reports: ReportFlags,
    #[command(flatten)]
    pub(super) evaluators: EvaluatorFlags,
}

/// Which resources the function gets.
#[derive(Args, Debug)]
struct SelectionArgs {
    /// Select only resources with this apiVersion
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "",
        hide_default_value = true
    )]
    match_api_version: String,
    /// Select only resources of this kind
    #[arg(
        long,
        value_name = "KIND",
        default_value = "",
        hide_default_value = true
    )]
    match_kind: String,
    /// Select only resources with this name
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    match_name: String,
    /// Select only resources in this namespace
    #[arg(
        long,
        value_name = "NAMESPACE",
        default_value = "",
        hide_default_value = true
    )]
    match_namespace: String,
    /// Select only resources with this annotation
    #[arg(long, value_name = "KEY=VALUE")]
    match_annotations: Vec<String>,
    /// Select only resources with this label
    #[arg(long, value_name = "KEY=VALUE")]
    match_labels: Vec<String>,
    /// Exclude resources with this apiVersion
    #[arg(
        long,
        value_name = "VERSION",
        default_value = "",
        hide_default_value = true
    )]
    exclude_api_version: String,
    /// Exclude resources of this kind
    #[arg(
        long,
        value_name = "KIND",
        default_value = "",
        hide_default_value = true
    )]
    exclude_kind: String,
    /// Exclude resources with this name
    #[arg(
        long,
        value_name = "NAME",
        default_value = "",
        hide_default_value = true
    )]
    exclude_name: String,
    /// Exclude resources in this namespace
    #[arg(
        long,
        value_name = "NAMESPACE",
        default_value = "",
        hide_default_value = true
    )]
    exclude_namespace: String,
    /// Exclude resources with this annotation
    #[arg(long, value_name = "KEY=VALUE")]
    exclude_annotations: Vec<String>,
    /// Exclude resources with this label
    #[arg(long, value_name = "KEY=VALUE")]
    exclude_labels: Vec<String>,
}

impl EvalArgs {
    /// The list to save the function to, if it is to be saved.
    pub(super) fn check_saving(&self) -> Result<Option<FunctionKind>> {
        if self.include_meta_resources == Some(true) {
            bail_usage!(
                "--include-meta-resources is no longer necessary \
                 because meta resources are now included by default"
            );
        }
        if self.save != Some(true) {
            return Ok(None);
        }
        match self.kind.as_str() {
            "mutator" => Ok(Some(FunctionKind::Mutator)),
            "validator" => Ok(Some(FunctionKind::Validator)),
            "" => {
                bail_usage!("--type must be specified if saving functions to Kptfile (--save=true)")
            }
            _ => bail_usage!("--type must be either `mutator` or `validator`"),
        }
    }

    /// The only positional argument.
    pub(super) fn check_dirs(&self) -> Result<&str> {
        if self.image.is_empty() && self.exec.is_empty() {
            bail_usage!("must specify --image or --exec");
        }
        if self.dirs.len() > 1 {
            bail_usage!("0 or 1 arguments supported, function arguments go after '--'");
        }
        if !self.data.is_empty() && !self.fn_config.is_empty() {
            bail_usage!("function arguments can only be specified without function config file");
        }
        Ok(self.dirs.first().map_or(".", String::as_str))
    }

    /// The function to run; `--image` takes precedence over `--exec`.
    pub(super) fn target(&self, prefix: &str) -> Result<Target> {
        let has_container_flags = self.as_current_user == Some(true)
            || self.has_network()
            || !self.mounts.is_empty()
            || !self.env.is_empty();
        if has_container_flags && self.evaluators.has_runner() {
            bail_usage!(
                "--mount, --as-current-user, --network and --env cannot be used with --runner: \
                 the runner decides what functions can access"
            );
        }
        if !self.image.is_empty() {
            let image = with_prefix(prefix, &self.image);
            if let Err(error) = ImageRef::parse(&image) {
                bail_usage!("function image reference {image:?} is invalid: {error}");
            }
            return Ok(Target::Image(image));
        }
        if has_container_flags {
            bail_usage!(
                "--mount, --as-current-user, --network and --env can only be used with container functions"
            );
        }
        Ok(Target::Exec(self.exec.clone()))
    }

    /// Mounts, user and network of the container.
    pub(super) fn container_flags(&self) -> ContainerFlags {
        let user = || {
            let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
            format!("{}:{}", user.as_raw(), group.as_raw())
        };
        ContainerFlags {
            mounts: self
                .mounts
                .iter()
                .map(|mount| Mount::parse(mount))
                .collect(),
            user: (self.as_current_user == Some(true)).then(user),
            network: self.network(),
        }
    }

    fn has_network(&self) -> bool {
        self.network == Some(true)
    }

    pub(super) fn network(&self) -> Network {
        match self.has_network() {
            true => Network::Host,
            false => Network::None,
        }
    }

    /// Selector and exclusion.
    pub(super) fn selection(&self) -> Result<(Selector, Selector)> {
        let args = &self.selection;
        let selector = Selector {
            api_version: args.match_api_version.clone(),
            kind: args.match_kind.clone(),
            name: args.match_name.clone(),
            namespace: args.match_namespace.clone(),
            labels: pairs(&args.match_labels)?,
            annotations: pairs(&args.match_annotations)?,
        };
        let exclusion = Selector {
            api_version: args.exclude_api_version.clone(),
            kind: args.exclude_kind.clone(),
            name: args.exclude_name.clone(),
            namespace: args.exclude_namespace.clone(),
            labels: pairs(&args.exclude_labels)?,
            annotations: pairs(&args.exclude_annotations)?,
        };
        Ok((selector, exclusion))
    }

    /// The `KEY=VALUE` arguments, and the kind if the first argument is one.
    pub(super) fn split_data(&self) -> Result<(Option<&str>, Pairs<'_>)> {
        let mut kind = None;
        let mut pairs = Vec::new();
        for (number, item) in self.data.iter().enumerate() {
            match item.split_once('=') {
                Some(pair) => pairs.push(pair),
                None if number == 0 => kind = Some(item.as_str()),
                None => bail_usage!("args must have keys and values separated by ="),
            }
        }
        Ok((kind, pairs))
    }

    /// The functionConfig made of the arguments. It exists even without arguments.
    pub(super) fn data_config(&self) -> Result<Document> {
        const EMPTY: &str = "metadata:\n  name: function-input\ndata: {}\n";
        let (kind, pairs) = self.split_data()?;
        let document = kiln_yaml::parse(EMPTY)?;
        let mut document = document.ok_or_else(|| anyhow!("no functionConfig"))?;
        for (key, value) in pairs {
            let value = document.new_string(value);
            if let Some(data) = document.root().get("data").map(|data| data.id()) {
                document.node_mut(data).set(&[key], value)?;
            }
        }
        let root = document.root().id();
        for (key, value) in [("kind", kind.unwrap_or("ConfigMap")), ("apiVersion", "v1")] {
            let key = document.new_scalar(key, "");
            let value = document.new_scalar(value, "");
            document.push_entry(root, key, value);
        }
        Ok(document)
    }
}

/// `KEY=VALUE`s.
type Pairs<'a> = Vec<(&'a str, &'a str)>;

fn pairs(given: &[String]) -> Result<BTreeMap<String, String>> {
    let pairs = given.iter().map(|pair| parse_pair(pair));
    Ok(pairs.collect::<Result<_, _>>()?)
}
