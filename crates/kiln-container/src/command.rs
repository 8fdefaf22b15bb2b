//! The command lines of engines.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use kiln_runtime::{FunctionSpec, Network};

/// Settings of containers.
#[derive(Clone, Debug, Default)]
pub struct ContainerOptions {
    /// The value of `KRM_FN_RUNTIME`; empty means docker.
    pub engine: String,
    /// The value of `$PATH`, to search for the engine's command.
    pub search_path: OsString,
    /// Which command line to use.
    pub style: CommandStyle,
    pub pull_policy: PullPolicy,
    /// The mounts of each container.
    pub mounts: Vec<Mount>,
    /// `uid:gid`; the user `nobody` if not given.
    pub user: Option<String>,
}

/// Which command line to use.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CommandStyle {
    /// kpt's, with a name for the container.
    #[default]
    Kiln,
    /// kpt's.
    Kpt,
    /// kpt v0.39's, which supports only docker, does not check its version and keeps all output of the engine.
    Legacy,
    /// kpt v0.39's, with a name for the container and for any engine.
    NamedLegacy,
}

impl CommandStyle {
    pub(crate) fn is_legacy(self) -> bool {
        matches!(self, CommandStyle::Legacy | CommandStyle::NamedLegacy)
    }

    /// Whether containers get names, so that they can be removed.
    pub(crate) fn has_names(self) -> bool {
        matches!(self, CommandStyle::Kiln | CommandStyle::NamedLegacy)
    }
}

/// When an image is pulled.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum PullPolicy {
    Always,
    #[default]
    IfNotPresent,
    Never,
}

/// A mount of a container.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mount {
    /// `bind`, `volume`, `tmpfs`
    pub kind: String,
    pub source: String,
    pub target: String,
    pub writable: bool,
}

impl PullPolicy {
    pub const NAMES: [(&'static str, PullPolicy); 3] = [
        ("Always", PullPolicy::Always),
        ("IfNotPresent", PullPolicy::IfNotPresent),
        ("Never", PullPolicy::Never),
    ];

    /// Ignores upper and lower case.
    pub fn parse(name: &str) -> Option<PullPolicy> {
        let mut names = PullPolicy::NAMES.iter();
        let (_, policy) = names.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(*policy)
    }

    fn word(self) -> &'static str {
        match self {
            PullPolicy::Always => "always",
            PullPolicy::IfNotPresent => "missing",
            PullPolicy::Never => "never",
        }
    }
}

impl Mount {
    /// Parses `type=bind,src=/a,dst=/b,rw=true`. Ignores what it does not know, as kpt does.
    pub fn parse(text: &str) -> Mount {
        let mut mount = Mount::default();
        for (key, value) in text.split(',').filter_map(|option| option.split_once('=')) {
            match key {
                "type" => mount.kind = value.to_owned(),
                "src" | "source" => mount.source = value.to_owned(),
                "dst" | "target" => mount.target = value.to_owned(),
                "rw" => mount.writable = value == "true",
                _ => {}
            }
        }
        mount
    }
}

impl fmt::Display for Mount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = if self.writable { "" } else { ",readonly" };
        let Mount {
            kind,
            source,
            target,
            ..
        } = self;
        write!(f, "type={kind},source={source},target={target}{mode}")
    }
}

/// The arguments of the engine to run a function.
pub(crate) fn run_arguments(
    options: &ContainerOptions,
    function: &FunctionSpec,
    name: Option<&str>,
    memory: Option<u64>,
) -> Vec<String> {
    let mut words = vec!["run", "--rm", "-i"];
    if options.style.is_legacy() {
        words.extend(["-a", "STDIN", "-a", "STDOUT", "-a", "STDERR"]);
    }
    if let Some(name) = name {
        words.extend(["--name", name]);
    }
    let network = match function.network {
        Network::None => "none",
        Network::Host => "host",
    };
    let user = options.user.as_deref().unwrap_or("nobody");
    words.extend(["--network", network, "--user", user]);
    words.push("--security-opt=no-new-privileges");
    if !options.style.is_legacy() {
        words.extend(["--pull", options.pull_policy.word()]);
    }
    let mut arguments: Vec<String> = words.into_iter().map(str::to_owned).collect();
    if let Some(memory) = memory {
        arguments.extend(["--memory".to_owned(), memory.to_string()]);
    }
    for mount in &options.mounts {
        arguments.extend(["--mount".to_owned(), mount.to_string()]);
    }
    for variable in variables(options.style, &function.env) {
        arguments.extend(["-e".to_owned(), variable]);
    }
    arguments.push(function.name().to_owned());
    arguments
}

/// The variables of a container: those with values sorted by name, with the last value of each; then those without
/// values, in order.
fn variables(style: CommandStyle, env: &[String]) -> Vec<String> {
    let mut values = BTreeMap::new();
    if style.is_legacy() {
        values.extend([("LOG_TO_STDERR", "true"), ("STRUCTURED_RESULTS", "true")]);
    }
    let mut bare: Vec<String> = Vec::new();
    for variable in env {
        match variable.split_once('=') {
            Some((key, value)) => {
                values.insert(key, value);
            }
            None if !bare.contains(variable) => bare.push(variable.clone()),
            None => {}
        }
    }
    let with_values = values.iter().map(|(key, value)| format!("{key}={value}"));
    with_values.chain(bare).collect()
}

#[cfg(test)]
mod tests;
