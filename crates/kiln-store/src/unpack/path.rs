//! The names of entries.

use super::error::UnpackProblem;

/// As Linux limits them.
const MAX_COMPONENT: usize = 255;
const MAX_PATH: usize = 4096;

/// The path of an entry: relative, without `.`, `..` and empty components.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EntryPath {
    path: Vec<u8>,
    /// Where the last component starts.
    name_at: usize,
}

impl EntryPath {
    /// Checks a name of an archive. `None` if it names the root itself.
    pub(crate) fn parse(name: &[u8]) -> Result<Option<EntryPath>, UnpackProblem> {
        if name.is_empty() {
            return Err(UnpackProblem::Name("it is empty"));
        }
        if name.contains(&0) {
            return Err(UnpackProblem::Name("it has a NUL"));
        }
        if name.len() > MAX_PATH {
            return Err(UnpackProblem::Name("it is longer than 4096 bytes"));
        }
        let mut path = Vec::with_capacity(name.len());
        let mut name_at = 0;
        for component in name.split(|byte| *byte == b'/') {
            match component {
                b"" | b"." => continue,
                b".." => return Err(UnpackProblem::Name("it has a component ..")),
                long if long.len() > MAX_COMPONENT => {
                    return Err(UnpackProblem::Name("a component is longer than 255 bytes"));
                }
                component => {
                    if !path.is_empty() {
                        path.push(b'/');
                    }
                    name_at = path.len();
                    path.extend_from_slice(component);
                }
            }
        }
        Ok((!path.is_empty()).then_some(EntryPath { path, name_at }))
    }

    /// The path of the directory; empty for the root.
    pub(crate) fn parent(&self) -> &[u8] {
        let end = self.name_at.saturating_sub(1);
        self.path.get(..end).unwrap_or_default()
    }

    /// The last component.
    pub(crate) fn name(&self) -> &[u8] {
        self.path.get(self.name_at..).unwrap_or_default()
    }
}
