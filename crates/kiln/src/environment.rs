//! Every environment variable that kiln reads.

/// Whose behaviour to show when `--compat` is not given: `kiln`, `kpt` or `kpt-v0.39`.
pub(crate) const KILN_COMPAT: &str = "KILN_COMPAT";
/// What stands before the short names of images when `--image-prefix` is not given.
pub(crate) const KPT_IMAGE_PREFIX: &str = "KPT_IMAGE_PREFIX";
/// A non-empty value keeps render from marking the resources of the Config Connector.
const KRM_DISABLE_ATTRIBUTION: &str = "KRM_DISABLE_ATTRIBUTION";
/// The engine that runs containers: docker, podman or nerdctl.
pub(crate) const KRM_FN_RUNTIME: &str = "KRM_FN_RUNTIME";
/// The directory of Docker's settings, credentials for registries among them.
pub(crate) const DOCKER_CONFIG: &str = "DOCKER_CONFIG";
/// The name of the author of commits, as for git.
pub(crate) const GIT_AUTHOR_NAME: &str = "GIT_AUTHOR_NAME";
/// The email address of the author of commits, as for git.
pub(crate) const GIT_AUTHOR_EMAIL: &str = "GIT_AUTHOR_EMAIL";
/// The user's directory.
pub(crate) const HOME: &str = "HOME";
/// The file of registered repositories.
pub(crate) const KILN_REPOSITORIES: &str = "KILN_REPOSITORIES";
/// Timeout of git commands that talk to a remote: 90s, 5m, 1h30m; 0 means no limit.
pub(crate) const KILN_GIT_TIMEOUT: &str = "KILN_GIT_TIMEOUT";
/// Where copies are kept, if not below the user's directory.
pub(crate) const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
/// Where settings are kept, if not below the user's directory.
pub(crate) const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Where programs are searched for.
pub(crate) const PATH: &str = "PATH";
/// The trace that a command is part of, as W3C's `traceparent` has it; passed on to a function runner.
pub(crate) const TRACEPARENT: &str = "TRACEPARENT";
/// What goes with it, as W3C's `tracestate` has it.
pub(crate) const TRACESTATE: &str = "TRACESTATE";
/// What the terminal can do; a dumb one cannot erase a line.
pub(crate) const TERM: &str = "TERM";

/// Whether render leaves the resources of the Config Connector unmarked. Like kpt, an empty value counts as not set.
pub(crate) fn is_attribution_disabled() -> bool {
    std::env::var_os(KRM_DISABLE_ATTRIBUTION).is_some_and(|value| !value.is_empty())
}
