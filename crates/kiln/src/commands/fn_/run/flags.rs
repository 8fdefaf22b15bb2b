//! The flags of `kiln fn run`, and the function that they may name.

use std::time::Duration;

use anyhow::{Result, bail};
use clap::{ArgAction, Args};
use kiln_krm::Resource;
use kiln_krm::annotations::FUNCTION;
use kiln_krm::legacy_words::wrong_kind;
use kiln_runtime::DEFAULT_MAX_OUTPUT;
use kiln_yaml::{Document, EditError, Kind, SequenceStyle, Style};

use crate::compat::Compat;
use crate::flag_values::{go_bool, go_time, size};
use crate::log_format::LogFormat;

/// Flags of `kiln fn run`.
#[derive(Args, Debug)]
// More than one DIR is refused in kpt's words, which needs them parsed.
#[command(override_usage = "kiln fn run [OPTIONS] [DIR] [-- [KIND] [KEY=VALUE]...]")]
pub(crate) struct RunArgs {
    /// The directory to run functions on; from standard input to standard output if not given
    #[arg(value_name = "DIR")]
    pub(super) dirs: Vec<String>,
    /// Run this image
    #[arg(long, value_name = "IMAGE", allow_hyphen_values = true)]
    image: Option<String>,
    /// Allow functions that are programs of this machine
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) enable_exec: bool,
    /// Run this program, without arguments
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    exec_path: Option<String>,
    /// Allow functions that are Starlark scripts
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) enable_star: bool,
    /// Run this Starlark script
    #[arg(long, value_name = "PATH", allow_hyphen_values = true)]
    star_path: Option<String>,
    /// Run the Starlark script that is to be had here
    #[arg(long, value_name = "URL", allow_hyphen_values = true)]
    star_url: Option<String>,
    /// What the Starlark script is called
    #[arg(long, value_name = "NAME", allow_hyphen_values = true)]
    star_name: Option<String>,
    /// Take functions from these directories instead of DIR
    #[arg(
        long,
        value_name = "DIR",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(super) fn_path: Vec<String>,
    /// Let every function see all resources, not only those of its directory
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) global_scope: bool,
    /// How long a function may run: 90s, 5m, 1h30m; as long as it likes if not given
    #[arg(long, value_name = "TIME", value_parser = go_time)]
    timeout: Option<Duration>,
    /// How much a function may write, in bytes, or with K, M or G
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_output: Option<u64>,
    /// Print the resources and leave DIR as it is
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) dry_run: bool,
    /// Write what functions report to this directory, which must exist
    #[arg(long, value_name = "DIR", allow_hyphen_values = true)]
    pub(super) results_dir: Option<String>,
    /// Give the network to images that declare that they need it
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) network: bool,
    /// What images see of the file system: type=bind,src=PATH,dst=PATH[,rw=true]
    #[arg(long, value_name = "MOUNT", allow_hyphen_values = true)]
    pub(super) mount: Vec<String>,
    /// A variable for images: NAME=VALUE, or NAME for its value here
    #[arg(short, long, value_name = "VARIABLE", allow_hyphen_values = true)]
    pub(super) env: Vec<String>,
    /// Run images as the user who runs kiln
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) as_current_user: bool,
    /// Tell which function is about to run
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false", default_missing_value = "true", hide_default_value = true, value_parser = go_bool)]
    pub(super) log_steps: bool,
    /// How to tell what happens: lines for people, or one JSON object a line
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    log_format: LogFormat,
    /// Accepted because kpt has it; without effect
    #[arg(long, hide = true, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "true", default_missing_value = "true", value_parser = go_bool)]
    include_subpackages: bool,
    /// The kind and the data of the configuration of the function that the flags name
    #[arg(last = true, value_name = "KEY=VALUE")]
    data: Vec<String>,
}

/// A flag's text, unless it is empty.
fn given(flag: &Option<String>) -> Option<&str> {
    flag.as_deref().filter(|text| !text.is_empty())
}

impl RunArgs {
    /// The time that a function has; none if it may take as long as it likes.
    pub(super) fn timeout(&self) -> Option<Duration> {
        self.timeout.filter(|timeout| !timeout.is_zero())
    }

    /// How much a function may write. The original takes what fits into memory.
    pub(super) fn max_output(&self, compat: Compat) -> u64 {
        let by_default = match compat {
            Compat::Kiln => DEFAULT_MAX_OUTPUT,
            Compat::Kpt | Compat::KptV039 => u64::MAX,
        };
        self.max_output.unwrap_or(by_default)
    }

    /// Refuses what does not go together, in kpt's words.
    pub(super) fn check(&self) -> Result<()> {
        let has_script = given(&self.star_path).or(given(&self.star_url)).is_some();
        let has_program = given(&self.exec_path).is_some();
        if !self.enable_star && has_script {
            bail!("must specify --enable-star with --star-path and --star-url");
        }
        if !self.enable_exec && has_program {
            bail!("must specify --enable-exec with --exec-path");
        }
        let has_function = given(&self.image).is_some() || has_script || has_program;
        // clap tells what follows `--`, but not whether it was there.
        let has_dashes = std::env::args_os().any(|word| word == "--");
        if has_dashes && !has_function {
            bail!("must specify --image");
        }
        if self.dirs.len() > 1 {
            bail!("0 or 1 arguments supported, function arguments go after '--'");
        }
        Ok(())
    }

    /// The configuration of the function that the flags name, which declares it.
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
                None => bail!("args must have keys and values separated by ="),
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

    /// The declaration of the function that the flags name; an image before a script before a program.
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

/// A mapping on one line, of scalars that are what they look like.
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

/// What kpt says of a pair without a key: it takes the value for that of all pairs before.
fn no_key(before: &[(&str, &str)]) -> String {
    let contents = kiln_yaml::to_string(&flow(before), SequenceStyle::Compact);
    let error = EditError::WrongKind {
        expected: Kind::Scalar,
        found: Kind::Mapping,
        contents,
    };
    wrong_kind(&error, "data")
}
