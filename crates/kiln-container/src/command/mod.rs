//! The command lines of engines.

use std::collections::BTreeMap;
use std::ffi::OsString;

use kiln_oci::PullPolicy;
use kiln_runtime::{FunctionSpec, Mount, Network};

/// Settings of containers.
#[derive(Clone, Debug, Default)]
pub struct ContainerOptions {
    /// The name of the engine. Empty means docker and, in [`CommandStyle::Kiln`], podman or nerdctl if docker is not
    /// available.
    pub engine: String,
    /// The value of `$PATH`, to search for the engine's command.
    pub search_path: OsString,
    /// Which command line to use.
    pub style: CommandStyle,
    pub pull_policy: PullPolicy,
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

/// The engines' word for a policy.
fn pull_word(policy: PullPolicy) -> &'static str {
    match policy {
        PullPolicy::Always => "always",
        PullPolicy::IfNotPresent => "missing",
        PullPolicy::Never => "never",
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
        words.extend(["--pull", pull_word(options.pull_policy)]);
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

/// The variables of every container of kpt v0.39.
pub const LEGACY_VARIABLES: [(&str, &str); 2] =
    [("LOG_TO_STDERR", "true"), ("STRUCTURED_RESULTS", "true")];

/// The variables of a container: those with values sorted by name, with the last value of each; then those without
/// values, in order.
fn variables(style: CommandStyle, env: &[String]) -> Vec<String> {
    let mut values = BTreeMap::new();
    if style.is_legacy() {
        values.extend(LEGACY_VARIABLES);
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
