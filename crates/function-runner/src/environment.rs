//! The environment of the runner.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use kiln_policy::PolicyPaths;

/// The image with the wrapper server. Required if the pod evaluator is enabled.
pub const WRAPPER_SERVER_IMAGE: &str = "WRAPPER_SERVER_IMAGE";

/// The directory of the image store, without `--image-store`.
pub(crate) const KILN_STORE: &str = "KILN_STORE";

/// The policy of functions, without `--policy`.
pub(crate) const KILN_POLICY: &str = "KILN_POLICY";

/// The environment, read once.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// All variables; functions get a few.
    pub variables: Vec<(OsString, OsString)>,
    /// Where to make private directories of functions.
    pub temporary: PathBuf,
    /// The base of relative paths.
    pub directory: PathBuf,
    /// The program of worker processes; see [`crate::run_as_worker`].
    pub program: PathBuf,
}

/// The program itself, even if its file has been replaced since its start.
const OWN_PROGRAM: &str = "/proc/self/exe";

impl Environment {
    /// Reads the environment of this process.
    pub fn read() -> Environment {
        Environment {
            variables: std::env::vars_os().collect(),
            temporary: std::env::temp_dir(),
            directory: std::env::current_dir().unwrap_or_default(),
            program: match Path::new(OWN_PROGRAM).exists() {
                true => PathBuf::from(OWN_PROGRAM),
                false => std::env::current_exe().unwrap_or_default(),
            },
        }
    }

    /// The directory of the image store; `None` without a home.
    pub fn image_store(&self) -> Option<PathBuf> {
        let path = |name| self.get(name).map(PathBuf::from);
        path(KILN_STORE).or_else(|| {
            let cache = path("XDG_CACHE_HOME");
            let cache = cache.or_else(|| Some(path("HOME")?.join(".cache")))?;
            Some(cache.join("kiln/store"))
        })
    }

    /// The files of the policy. `given` is that of the flag.
    pub(crate) fn policy(&self, given: Option<PathBuf>) -> PolicyPaths {
        let path = |name| self.get(name).map(PathBuf::from);
        let config = path("XDG_CONFIG_HOME");
        let config = config.or_else(|| Some(path("HOME")?.join(".config")));
        PolicyPaths::new(given.or_else(|| path(KILN_POLICY)), config)
    }

    /// A variable; `None` if it is not set or empty.
    pub fn get(&self, name: &str) -> Option<&OsString> {
        let variable = self.variables.iter().find(|(known, _)| known == name);
        variable
            .map(|(_, value)| value)
            .filter(|value| !value.is_empty())
    }
}
