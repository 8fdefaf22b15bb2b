//! What the runner takes from its environment.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The image that puts the wrapper into pods. Needed when the pod runtime is on.
pub const WRAPPER_SERVER_IMAGE: &str = "WRAPPER_SERVER_IMAGE";

/// The environment, read once.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    /// All variables, of which functions get a few.
    pub variables: Vec<(OsString, OsString)>,
    /// Where private directories of functions are made.
    pub temporary: PathBuf,
    /// What relative paths are relative to.
    pub directory: PathBuf,
    /// The program that workers of native functions are started with; see [`crate::run_as_worker`].
    pub program: PathBuf,
}

/// The program itself, even if its file has been replaced since it was started.
const OWN_PROGRAM: &str = "/proc/self/exe";

impl Environment {
    /// That of this process.
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

    /// A variable; none if it is not set or empty.
    pub fn get(&self, name: &str) -> Option<&OsString> {
        let variable = self.variables.iter().find(|(known, _)| known == name);
        variable
            .map(|(_, value)| value)
            .filter(|value| !value.is_empty())
    }
}
