//! The mounted files (`--mount`) for built-in functions: the files that a container would see, and no others.

use std::path::{Component, Path, PathBuf};

use kiln_container::Mount;
use kiln_functions::Files;

pub(crate) struct MountedFiles {
    mounts: Vec<Mount>,
}

impl MountedFiles {
    pub(crate) fn new(mounts: &[Mount]) -> MountedFiles {
        MountedFiles {
            mounts: mounts.to_vec(),
        }
    }

    /// The local path of a path in the container. Links that lead out of the mount are not followed.
    fn find(&self, path: &Path) -> Option<PathBuf> {
        let is_plain =
            |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.is_absolute() || !path.components().all(is_plain) {
            return None;
        }
        let fits = |mount: &&Mount| mount.kind == "bind" && path.starts_with(&mount.target);
        let mount = self
            .mounts
            .iter()
            .filter(fits)
            .max_by_key(|mount| Path::new(&mount.target).components().count())?;
        let source = Path::new(&mount.source).canonicalize().ok()?;
        let rest = path.strip_prefix(&mount.target).ok()?;
        let found = source.join(rest).canonicalize().ok()?;
        found.starts_with(&source).then_some(found)
    }
}

impl Files for MountedFiles {
    fn read(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.find(Path::new(path))?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_mounted_files_can_be_read() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.path().join(name), text).unwrap();
        std::fs::create_dir(root.path().join("in")).unwrap();
        write("in/a.json", "inside");
        write("secret", "outside");
        std::os::unix::fs::symlink("../secret", root.path().join("in/link")).unwrap();
        let source = root.path().join("in");
        let mount = format!("type=bind,src={},dst=/schemas/master", source.display());
        let files = MountedFiles::new(&[Mount::parse(&mount)]);
        assert_eq!(
            files.read("/schemas/master/a.json").as_deref(),
            Some("inside")
        );
        for hidden in [
            "/schemas/master/link",
            "/schemas/master/../a.json",
            "/schemas/masters/a.json",
            "/schemas/a.json",
            "schemas/master/a.json",
            "/etc/passwd",
        ] {
            assert_eq!(files.read(hidden), None, "{hidden}");
        }
    }
}
