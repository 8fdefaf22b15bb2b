//! Writing through symbolic links that lead out of a package. kpt does; kiln refuses.

use std::path::Path;

use kiln_krm::package::{FileAction, FileChange};

/// A write to a file outside of the package.
pub(crate) struct OutsideWrite<'a> {
    change: &'a FileChange,
    content: &'a [u8],
}

/// Separates changes inside the package from writes through links that lead out of it.
pub(crate) fn split<'a>(
    root: &Path,
    changes: &'a [FileChange],
) -> (Vec<FileChange>, Vec<OutsideWrite<'a>>) {
    let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
    let mut inside = Vec::new();
    let mut outside = Vec::new();
    for change in changes {
        let path = root.join(&change.path);
        let leads_out = path.is_symlink()
            && path
                .canonicalize()
                .is_ok_and(|target| !target.starts_with(&root));
        match &change.action {
            FileAction::Write(content) if leads_out => {
                outside.push(OutsideWrite { change, content });
            }
            _ => inside.push(change.clone()),
        }
    }
    (inside, outside)
}

impl OutsideWrite<'_> {
    /// Writes to the target of the link.
    pub(crate) fn perform(&self, root: &Path) -> std::io::Result<()> {
        std::fs::write(root.join(&self.change.path), self.content)
    }
}
