//! Every environment variable that kiln reads.

/// Compatibility mode without `--compat`: `kiln`, `kpt` or `kpt-v0.39`.
pub(crate) const KILN_COMPAT: &str = "KILN_COMPAT";
/// Prefix for image names without a registry, without `--image-prefix`.
pub(crate) const KPT_IMAGE_PREFIX: &str = "KPT_IMAGE_PREFIX";
/// A non-empty value disables the attribution annotations on resources of the Config Connector.
const KRM_DISABLE_ATTRIBUTION: &str = "KRM_DISABLE_ATTRIBUTION";
/// The container engine: docker, podman or nerdctl.
pub(crate) const KRM_FN_RUNTIME: &str = "KRM_FN_RUNTIME";
/// The directory of Docker's configuration, which has the credentials for registries.
pub(crate) const DOCKER_CONFIG: &str = "DOCKER_CONFIG";
/// The name of the author of commits, as for git.
pub(crate) const GIT_AUTHOR_NAME: &str = "GIT_AUTHOR_NAME";
/// The email address of the author of commits, as for git.
pub(crate) const GIT_AUTHOR_EMAIL: &str = "GIT_AUTHOR_EMAIL";
/// The home directory.
pub(crate) const HOME: &str = "HOME";
/// The file of registered repositories.
pub(crate) const KILN_REPOSITORIES: &str = "KILN_REPOSITORIES";
/// Timeout of git commands that talk to a remote: 90s, 5m, 1h30m; 0 means no limit.
pub(crate) const KILN_GIT_TIMEOUT: &str = "KILN_GIT_TIMEOUT";
/// Directory for caches. Default: `.cache` in the home directory.
pub(crate) const XDG_CACHE_HOME: &str = "XDG_CACHE_HOME";
/// Directory for configuration. Default: `.config` in the home directory.
pub(crate) const XDG_CONFIG_HOME: &str = "XDG_CONFIG_HOME";
/// Directories that contain programs.
pub(crate) const PATH: &str = "PATH";
/// The W3C `traceparent` of the command, passed on to function runners.
pub(crate) const TRACEPARENT: &str = "TRACEPARENT";
/// The W3C `tracestate` of the command, passed on to function runners.
pub(crate) const TRACESTATE: &str = "TRACESTATE";
/// The type of the terminal. A `dumb` one cannot erase a line.
pub(crate) const TERM: &str = "TERM";

/// Whether attribution is disabled. As in kpt, an empty value counts as not set.
pub(crate) fn is_attribution_disabled() -> bool {
    std::env::var_os(KRM_DISABLE_ATTRIBUTION).is_some_and(|value| !value.is_empty())
}
