//! Where a package is in its repository. CI systems look for the files of annotations from there, wherever the command ran.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::environment::{CI_PROJECT_DIR, GITHUB_WORKSPACE};

/// The directory of a package, or of a file, in its repository; `None` outside of every repository.
pub(crate) fn repository_directory(package: &Path) -> Option<String> {
    let named = [GITHUB_WORKSPACE, CI_PROJECT_DIR].map(std::env::var_os);
    directory_in(package, named.into_iter().flatten())
}

/// As [`repository_directory`]. `workspaces` matter more than what git shows.
fn directory_in(package: &Path, workspaces: impl Iterator<Item = OsString>) -> Option<String> {
    let mut package = package.canonicalize().ok()?;
    if package.is_file() {
        package.pop();
    }
    let workspaces = workspaces.filter_map(|path| PathBuf::from(path).canonicalize().ok());
    let checkout = package.ancestors().find(|path| path.join(".git").exists());
    let mut roots = workspaces.chain(checkout.map(Path::to_owned));
    let inside = roots.find_map(|root| Some(package.strip_prefix(root).ok()?.to_owned()))?;
    inside.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workspace_matters_more_than_a_checkout() {
        let root = tempfile::tempdir().unwrap();
        let package = root.path().join("work/checkout/apps/shop");
        std::fs::create_dir_all(&package).unwrap();
        std::fs::write(package.join("a.yaml"), "a: 1\n").unwrap();
        let found = |workspaces: &[&str]| {
            let workspaces = workspaces.iter();
            let workspaces: Vec<OsString> = workspaces
                .map(|path| root.path().join(path).into())
                .collect();
            directory_in(&package, workspaces.into_iter())
        };
        assert_eq!(found(&[]), None);
        std::fs::create_dir(root.path().join("work/checkout/.git")).unwrap();
        assert_eq!(found(&[]).as_deref(), Some("apps/shop"));
        assert_eq!(found(&["work"]).as_deref(), Some("checkout/apps/shop"));
        assert_eq!(found(&["elsewhere"]).as_deref(), Some("apps/shop"));
        assert_eq!(found(&["work/checkout/apps/shop"]).as_deref(), Some(""));
        let file = directory_in(&package.join("a.yaml"), std::iter::empty());
        assert_eq!(file.as_deref(), Some("apps/shop"));
    }
}
