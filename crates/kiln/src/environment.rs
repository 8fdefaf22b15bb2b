//! Every environment variable that kiln reads.

use std::path::PathBuf;

/// Compatibility mode without `--compat`: `kiln`, `kpt` or `kpt-v0.39`.
pub(crate) const KILN_COMPAT: &str = "KILN_COMPAT";
/// The policy of functions without `--policy`.
pub(crate) const KILN_POLICY: &str = "KILN_POLICY";
/// Which answers of functions are kept without `--cache`: off, on, images or verify.
pub(crate) const KILN_CACHE: &str = "KILN_CACHE";
/// Prefix for image names without a registry, without `--image-prefix`.
pub(crate) const KPT_IMAGE_PREFIX: &str = "KPT_IMAGE_PREFIX";
/// A non-empty value disables the attribution annotations on resources of the Config Connector.
pub(crate) const KRM_DISABLE_ATTRIBUTION: &str = "KRM_DISABLE_ATTRIBUTION";
/// The directory of kpt's cache of repositories. Default: `.kpt/repos` in the home directory.
pub(crate) const KPT_CACHE_DIR: &str = "KPT_CACHE_DIR";
/// The program with which `pkg diff` compares directories.
pub(crate) const KPT_EXTERNAL_DIFF: &str = "KPT_EXTERNAL_DIFF";
/// The arguments of that program.
pub(crate) const KPT_EXTERNAL_DIFF_OPTS: &str = "KPT_EXTERNAL_DIFF_OPTS";
/// The kpt that runs the commands that kiln does not have, if kiln is called as kpt.
pub(crate) const KILN_KPT: &str = "KILN_KPT";
/// The engine that runs what kiln does not, if kiln is called as docker. Default: the next docker on the path.
pub(crate) const KILN_REAL_DOCKER: &str = "KILN_REAL_DOCKER";
/// The same for podman.
pub(crate) const KILN_REAL_PODMAN: &str = "KILN_REAL_PODMAN";
/// The same for nerdctl.
pub(crate) const KILN_REAL_NERDCTL: &str = "KILN_REAL_NERDCTL";
/// The version that kiln reports if it is called as a container engine.
pub(crate) const KILN_DOCKER_VERSION: &str = "KILN_DOCKER_VERSION";
/// `1` lets functions that ask for the network have it, if kiln is called as a container engine.
pub(crate) const KILN_ALLOW_NETWORK: &str = "KILN_ALLOW_NETWORK";
/// Directories outside of the working directory that functions may mount, if kiln is called as a container engine; `1`
/// allows all.
pub(crate) const KILN_ALLOW_MOUNTS: &str = "KILN_ALLOW_MOUNTS";
/// The parameters of an application of Argo CD, as JSON.
pub(crate) const ARGOCD_APP_PARAMETERS: &str = "ARGOCD_APP_PARAMETERS";
/// The time after which Argo CD stops a command of a plugin; 0 for no limit. Argo CD does not set it for plugins.
pub(crate) const ARGOCD_EXEC_TIMEOUT: &str = "ARGOCD_EXEC_TIMEOUT";
/// The Kptfile of `helm post-render` without `--pipeline`.
pub(crate) const KILN_POST_PIPELINE: &str = "KILN_POST_PIPELINE";
/// Set for the program that replaces kiln: the number of the process, so that kiln does not replace itself.
pub(crate) const KILN_PASSED_ON: &str = "KILN_PASSED_ON";
/// The configuration of kubectl, for the namespace of `live init`.
pub(crate) const KUBECONFIG: &str = "KUBECONFIG";
/// Set by completion scripts: the shell that asks for completions.
pub(crate) const KILN_COMPLETE: &str = "KILN_COMPLETE";
/// A non-empty value disables colours, unless `--color` asks for them.
pub(crate) const NO_COLOR: &str = "NO_COLOR";
/// The container engine: docker, podman or nerdctl.
pub(crate) const KRM_FN_RUNTIME: &str = "KRM_FN_RUNTIME";
/// How to run images without `--image-runtime`: auto, namespaces, landlock, docker, podman or nerdctl.
pub(crate) const KILN_IMAGE_RUNTIME: &str = "KILN_IMAGE_RUNTIME";
/// The engine of functions in WebAssembly, as in kpt: wasmtime or nodejs. Both mean kiln's own.
pub(crate) const KPT_FN_WASM_RUNTIME: &str = "KPT_FN_WASM_RUNTIME";
/// `1` compiles every function in WebAssembly before it first runs.
pub(crate) const KILN_WASM_AOT: &str = "KILN_WASM_AOT";
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
/// Set by systems for continuous integration; there is no progress line then.
pub(crate) const CI: &str = "CI";

/// Directory of the store of unpacked images. Default: `kiln/store` in the directory for caches.
pub(crate) const KILN_STORE: &str = "KILN_STORE";

/// The directory for caches.
pub(crate) fn cache_directory() -> PathBuf {
    let directory = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    match (directory(XDG_CACHE_HOME), directory(HOME)) {
        (Some(cache), _) => PathBuf::from(cache),
        (None, Some(home)) => PathBuf::from(home).join(".cache"),
        (None, None) => std::env::temp_dir(),
    }
}

/// Whether attribution is disabled. As in kpt, an empty value counts as not set.
pub(crate) fn is_attribution_disabled() -> bool {
    std::env::var_os(KRM_DISABLE_ATTRIBUTION).is_some_and(|value| !value.is_empty())
}
