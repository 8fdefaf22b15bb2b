//! Every environment variable that kiln reads.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};

use crate::error::CommandError;

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

/// The directory of the repository in a workflow of GitHub: annotations name files from there.
pub(crate) const GITHUB_WORKSPACE: &str = "GITHUB_WORKSPACE";
/// The same in a job of GitLab.
pub(crate) const CI_PROJECT_DIR: &str = "CI_PROJECT_DIR";

/// Directory of the store of unpacked images. Default: `kiln/store` in the directory for caches.
pub(crate) const KILN_STORE: &str = "KILN_STORE";

/// The directory for caches. Without a home directory it is below the one for temporary files, where other users may have created
/// it first: callers check its owner, or use [`own_cache_directory`].
pub(crate) fn cache_directory() -> PathBuf {
    configured_cache_directory().unwrap_or_else(temporary_cache_directory)
}

/// The directory for caches, which no other user can change unless the environment names such a directory.
pub(crate) fn own_cache_directory() -> Result<PathBuf> {
    match configured_cache_directory() {
        Some(directory) => Ok(directory),
        None => {
            let directory = temporary_cache_directory();
            make_private(&directory)?;
            Ok(directory)
        }
    }
}

fn configured_cache_directory() -> Option<PathBuf> {
    let directory = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty());
    match (directory(XDG_CACHE_HOME), directory(HOME)) {
        (Some(cache), _) => Some(PathBuf::from(cache)),
        (None, Some(home)) => Some(PathBuf::from(home).join(".cache")),
        (None, None) => None,
    }
}

fn temporary_cache_directory() -> PathBuf {
    let user = rustix::process::geteuid().as_raw();
    std::env::temp_dir().join(format!("kiln-cache-{user}"))
}

/// Creates a directory for this user only. An existing one must belong to this user.
fn make_private(directory: &Path) -> Result<()> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
            let directory = directory.display();
            return Err(error).with_context(|| format!("cannot create {directory} for caches"));
        }
        _ => {}
    }
    let found = directory.symlink_metadata();
    let found = found.with_context(|| format!("cannot read {}", directory.display()))?;
    let is_own = found.is_dir() && found.uid() == rustix::process::geteuid().as_raw();
    // Writable for the group or others.
    if is_own && found.mode() & 0o022 == 0 {
        return Ok(());
    }
    let error = anyhow!(
        "cache directory {} is writable by other users",
        directory.display()
    );
    Err(CommandError::with_hint(error, "set HOME or XDG_CACHE_HOME").into())
}

/// Whether attribution is disabled. As in kpt, an empty value counts as not set.
pub(crate) fn is_attribution_disabled() -> bool {
    std::env::var_os(KRM_DISABLE_ATTRIBUTION).is_some_and(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn only_an_own_directory_is_used_for_caches() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("cache");
        make_private(&path).unwrap();
        assert_eq!(path.metadata().unwrap().mode() & 0o777, 0o700);
        make_private(&path).unwrap();

        set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        let error = make_private(&path).unwrap_err();
        assert!(
            error.to_string().contains("is writable by other users"),
            "{error}"
        );

        // A link of another user could point to a directory of this one.
        let link = root.path().join("link");
        symlink(root.path(), &link).unwrap();
        assert!(make_private(&link).is_err());
    }
}
