//! The flags of `kiln fn run`, and the function that they may declare.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::{ArgAction, Args};
use kiln_krm::Resource;
use kiln_krm::annotations::FUNCTION;
use kiln_krm::legacy_words::wrong_kind;
use kiln_runtime::DEFAULT_MAX_OUTPUT;
use kiln_yaml::{Document, EditError, Kind, SequenceStyle, Style};

use crate::compat::Compat;
use crate::error::bail_usage;
use crate::flag_values::{go_bool, go_time, size};
use crate::functions::image_runtime::ImageRuntimeFlags;
use crate::functions::policy::PolicyFlags;
use crate::log_format::LogFormat;

#[derive(Args, Debug)]
#[command(after_help = "Examples:\n\
    \x20 kiln fn run app --enable-exec\n\
    \x20 kiln fn run app --image example.com/set-name:v1 -- name=web")]
// More than one DIR is refused in kpt's words, which needs them parsed.
#[command(override_usage = "kiln fn run [OPTIONS] [DIR] [-- [KIND] [KEY=VALUE]...]")]
pub(crate) struct RunArgs {
    /// Directory to run functions on. Default: from standard input to standard output
    #[arg(value_name = "DIR")]
    pub(super) dirs: Vec<String>,
    /// Image to run
    #[arg(long, value_name = "IMAGE", allow_hyphen_values = true)]
    image: Option<String>,
    /// Allow functions that run programs on this machine
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) enable_exec: bool,
    /// Program to run, without arguments
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    exec_path: Option<String>,
    /// Allow functions that are Starlark scripts
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) enable_star: bool,
    /// Starlark script to run
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    star_path: Option<String>,
    /// URL of a Starlark script to run (not supported)
    #[arg(long, value_name = "URL", allow_hyphen_values = true)]
    star_url: Option<String>,
    /// Name of the Starlark script
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    star_name: Option<String>,
    #[command(flatten)]
    pub(super) policy: PolicyFlags,
    /// Directories that declare the functions. Default: DIR
    #[arg(
        long,
        value_name = "DIR",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(super) fn_path: Vec<String>,
    /// Pass all resources to every function, not only those of its directory
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) global_scope: bool,
    /// Time limit for each function: 90s, 5m, 1h30m. Default: no limit
    #[arg(long, value_name = "TIME", value_parser = go_time)]
    timeout: Option<Duration>,
    /// Output limit for each function, in bytes, or with K, M or G
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_output: Option<u64>,
    /// Print the resources and do not write to DIR
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) dry_run: bool,
    /// Directory for the results of functions; it must exist
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub(super) results_dir: Option<String>,
    /// Give network access to images that declare that they need it
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) network: bool,
    /// Mount a directory or file into containers: type=bind,src=PATH,dst=PATH[,rw=true]
    #[arg(long, value_name = "MOUNT", allow_hyphen_values = true)]
    pub(super) mount: Vec<String>,
    #[command(flatten)]
    pub(super) image_runtime: ImageRuntimeFlags,
    /// Environment variable for containers: NAME=VALUE, or NAME to pass on its current value
    #[arg(short, long, value_name = "VARIABLE", allow_hyphen_values = true)]
    pub(super) env: Vec<String>,
    /// Run containers as the current user
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) as_current_user: bool,
    /// Print the name of each function before it runs
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) log_steps: bool,
    /// Log format: human-readable text, or one JSON object per line
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Ignored; accepted because kpt has it
    #[arg(long, hide = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "true", default_missing_value = "true", value_parser = go_bool)]
    include_subpackages: bool,
    /// Kind and data of the functionConfig of the function that the flags name
    #[arg(last = true, value_name = "KEY=VALUE")]
    data: Vec<String>,
}

/// The value of a flag, unless it is empty.
fn given(flag: &Option<String>) -> Option<&str> {
    flag.as_deref().filter(|text| !text.is_empty())
}

impl RunArgs {
    /// The time limit for each function; `None` for no limit.
    pub(super) fn timeout(&self) -> Option<Duration> {
        self.timeout.filter(|timeout| !timeout.is_zero())
    }

    /// The output limit for each function. The original has none.
    pub(super) fn max_output(&self, compat: Compat) -> u64 {
        let by_default = match compat {
            Compat::Kiln => DEFAULT_MAX_OUTPUT,
            Compat::Kpt | Compat::KptV039 => u64::MAX,
        };
        self.max_output.unwrap_or(by_default)
    }

    /// Refuses flags that conflict, with kpt's messages.
    pub(super) fn check(&self) -> Result<()> {
        let has_script = given(&self.star_path).or(given(&self.star_url)).is_some();
        let has_program = given(&self.exec_path).is_some();
        if !self.enable_star && has_script {
            bail_usage!("must specify --enable-star with --star-path and --star-url");
        }
        if !self.enable_exec && has_program {
            bail_usage!("must specify --enable-exec with --exec-path");
        }
        let has_function = given(&self.image).is_some() || has_script || has_program;
        // clap reports what follows `--`, but not whether `--` was given.
        let has_dashes = std::env::args_os().any(|word| word == "--");
        if has_dashes && !has_function {
            bail_usage!("must specify --image");
        }
        if self.dirs.len() > 1 {
            bail_usage!("0 or 1 arguments supported, function arguments go after '--'");
        }
        Ok(())
    }

    /// The functionConfig that declares the function of the flags.
    pub(super) fn function(&self) -> Result<Option<Resource>> {
        let Some(declaration) = self.declaration() else {
            return Ok(None);
        };
        let mut kind = "ConfigMap";
        let mut config = Document::new_mapping();
        for (path, value) in [
            (&["metadata", "name"][..], "function-input"),
            (&["metadata", "annotations", FUNCTION], &declaration),
        ] {
            let value = config.new_scalar(value, "");
            config.root_mut().set(path, value)?;
        }
        let mut pairs: Vec<(&str, &str)> = Vec::new();
        for (number, word) in self.data.iter().enumerate() {
            match word.split_once('=') {
                Some(("", _)) => bail!(no_key(&pairs)),
                Some((key, value)) => match pairs.iter_mut().find(|pair| pair.0 == key) {
                    Some(pair) => pair.1 = value,
                    None => pairs.push((key, value)),
                },
                None if number == 0 => kind = word,
                None => bail_usage!("args must have keys and values separated by ="),
            }
        }
        let data = config.import(flow(&pairs).root());
        config.root_mut().set(&["data"], data)?;
        for (key, value) in [("kind", kind), ("apiVersion", "v1")] {
            let value = config.new_scalar(value, "");
            config.root_mut().set(&[key], value)?;
        }
        Ok(Some(Resource::new(config)))
    }

    /// The declaration of the function of the flags. An image takes precedence over a script, and a script over a program.
    fn declaration(&self) -> Option<String> {
        let script = given(&self.star_path).or(given(&self.star_url));
        let network = self.network.then_some("true");
        let (runtime, fields) = if let Some(image) = given(&self.image) {
            ("container", [("image", Some(image)), ("network", network)])
        } else if script.is_some() {
            let path = ("path", given(&self.star_path));
            ("starlark", [path, ("url", given(&self.star_url))])
        } else {
            let path = given(&self.exec_path)?;
            ("exec", [("path", Some(path)), ("", None)])
        };
        let name = (runtime == "starlark").then(|| self.star_name.as_deref().unwrap_or_default());
        let fields = fields.into_iter().chain([("name", name)]);
        let fields: Vec<(&str, &str)> = fields
            .filter_map(|(key, value)| Some((key, value?)))
            .collect();
        let mut declaration = Document::new_mapping();
        let inner = declaration.import(flow(&fields).root());
        let key = declaration.new_scalar(runtime, "");
        declaration.push_entry(declaration.root().id(), key, inner);
        Some(kiln_yaml::to_string(&declaration, SequenceStyle::Compact))
    }
}

/// A flow mapping of plain scalars.
fn flow(pairs: &[(&str, &str)]) -> Document {
    let mut mapping = Document::new_mapping();
    let root = mapping.root().id();
    mapping.set_style(root, Style::FLOW);
    for (key, value) in pairs {
        let key = mapping.new_scalar(key, "");
        let value = mapping.new_scalar(value, "");
        mapping.push_entry(root, key, value);
    }
    mapping
}

/// kpt's message for a pair without a key, which contains the pairs before it.
fn no_key(before: &[(&str, &str)]) -> String {
    let contents = kiln_yaml::to_string(&flow(before), SequenceStyle::Compact);
    let error = EditError::WrongKind {
        expected: Kind::Scalar,
        found: Kind::Mapping,
        contents,
    };
    wrong_kind(&error, "data")
}
