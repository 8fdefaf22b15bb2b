//! What a function may reach beyond its input. A remote base can ask for anything, so the user has to allow it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use kiln_container::Mount;
use kiln_runtime::Network;

use super::error::EngineLinkError;
use crate::environment::{KILN_ALLOW_MOUNTS, KILN_ALLOW_NETWORK};

/// The value of a variable that allows everything.
const ALL: &str = "1";

/// What the user allows.
pub(super) struct Permissions {
    network: bool,
    mounts: AllowedMounts,
}

enum AllowedMounts {
    All,
    /// What is below these directories, which have no links in them.
    Below(Vec<PathBuf>),
}

impl Permissions {
    /// The working directory, and what the variables of the environment add.
    pub(super) fn of_environment() -> Permissions {
        let working_directory = std::env::current_dir().ok();
        Permissions {
            network: std::env::var_os(KILN_ALLOW_NETWORK).is_some_and(|value| value == ALL),
            mounts: match std::env::var_os(KILN_ALLOW_MOUNTS) {
                Some(value) if value == ALL => AllowedMounts::All,
                value => {
                    let value = value.unwrap_or_default();
                    AllowedMounts::Below(directories(working_directory.as_deref(), &value))
                }
            },
        }
    }

    pub(super) fn check_network(&self, network: Network) -> Result<(), EngineLinkError> {
        match network {
            Network::Host if !self.network => Err(EngineLinkError::new(
                "the function asks for the network of this machine, which is not allowed",
            )
            .with_hint(format!(
                "set {KILN_ALLOW_NETWORK}=1 if you trust the function"
            ))),
            Network::None | Network::Host => Ok(()),
        }
    }

    /// The mounts with the links in their sources resolved, so that what is checked is what is mounted.
    pub(super) fn check_mounts(&self, mounts: &[Mount]) -> Result<Vec<Mount>, EngineLinkError> {
        let mounts = mounts.iter();
        mounts.map(|mount| self.check_mount(mount)).collect()
    }

    fn check_mount(&self, mount: &Mount) -> Result<Mount, EngineLinkError> {
        if mount.kind != "bind" {
            return Ok(mount.clone());
        }
        let named = &mount.source;
        let source = Path::new(named)
            .canonicalize()
            .map_err(|error| EngineLinkError::new(format!("cannot mount {named}: {error}")))?;
        let is_allowed = match &self.mounts {
            AllowedMounts::All => true,
            AllowedMounts::Below(directories) => directories
                .iter()
                .any(|directory| source.starts_with(directory)),
        };
        if !is_allowed {
            return Err(EngineLinkError::new(format!(
                "the function asks for the files of {named}, which is outside of the working directory"
            ))
            .with_hint(format!(
                "set {KILN_ALLOW_MOUNTS} to a list of directories if you trust the function"
            )));
        }
        let source = source.to_str().ok_or_else(|| {
            EngineLinkError::new(format!("cannot mount {named}: its name is not UTF-8"))
        })?;
        Ok(Mount {
            source: source.to_owned(),
            ..mount.clone()
        })
    }
}

/// Directories without links. The root of the file system is not one: `1` allows all.
fn directories(working_directory: Option<&Path>, listed: &OsStr) -> Vec<PathBuf> {
    let listed = std::env::split_paths(listed).filter(|path| path.is_absolute());
    let all = working_directory
        .map(Path::to_owned)
        .into_iter()
        .chain(listed);
    let resolved = all.filter_map(|directory| directory.canonicalize().ok());
    resolved
        .filter(|directory| directory.parent().is_some())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind(source: &Path) -> Mount {
        Mount {
            kind: "bind".to_owned(),
            source: source.display().to_string(),
            target: "/in".to_owned(),
            writable: false,
        }
    }

    #[test]
    fn mounts_stay_below_the_allowed_directories() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for directory in ["work/schemas", "shared", "work-other"] {
            std::fs::create_dir_all(path(directory)).unwrap();
        }
        std::os::unix::fs::symlink("../shared", path("work/link")).unwrap();
        let permissions = |listed: &Path| Permissions {
            network: false,
            mounts: AllowedMounts::Below(directories(Some(&path("work")), listed.as_os_str())),
        };
        let closed = permissions(Path::new(""));
        let open = permissions(&path("shared"));
        for (name, is_closed, is_open) in [
            ("work", true, true),
            ("work/schemas", true, true),
            ("work/schemas/..", true, true),
            ("work/link", false, true),
            ("work/../shared", false, true),
            ("work-other", false, false),
            ("work/missing", false, false),
        ] {
            let mounts = [bind(&path(name))];
            assert_eq!(closed.check_mounts(&mounts).is_ok(), is_closed, "{name}");
            assert_eq!(open.check_mounts(&mounts).is_ok(), is_open, "{name}");
        }
        let resolved = open.check_mounts(&[bind(&path("work/link"))]);
        let resolved = resolved.ok().and_then(|mounts| mounts.into_iter().next());
        let shared = path("shared").canonicalize().unwrap();
        assert_eq!(resolved, Some(bind(&shared)));
    }

    #[test]
    fn the_root_of_the_file_system_is_allowed_only_on_request() {
        assert_eq!(
            directories(Some(Path::new("/")), OsStr::new("/")),
            [] as [PathBuf; 0]
        );
        let all = Permissions {
            network: true,
            mounts: AllowedMounts::All,
        };
        assert!(all.check_mounts(&[bind(Path::new("/"))]).is_ok());
    }

    #[test]
    fn the_network_is_allowed_only_on_request() {
        for network in [false, true] {
            let permissions = Permissions {
                network,
                mounts: AllowedMounts::All,
            };
            assert!(permissions.check_network(Network::None).is_ok());
            assert_eq!(permissions.check_network(Network::Host).is_ok(), network);
        }
    }
}
