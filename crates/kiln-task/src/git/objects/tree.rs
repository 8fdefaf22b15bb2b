//! Tree objects.

use super::super::id::ObjectId;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct GitTree {
    pub(crate) entries: Vec<TreeEntry>,
}

/// An entry of a tree. Git allows names that are not UTF-8.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TreeEntry {
    pub(crate) mode: String,
    pub(crate) name: Vec<u8>,
    pub(crate) id: ObjectId,
}

pub(crate) const DIRECTORY: &str = "40000";
const SUBMODULE: &str = "160000";

impl GitTree {
    /// Parses a tree whose hashes are as long as `like`; `None` if it is invalid.
    pub(crate) fn parse(mut bytes: &[u8], like: &ObjectId) -> Option<GitTree> {
        let mut entries = Vec::new();
        while !bytes.is_empty() {
            let space = bytes.iter().position(|byte| *byte == b' ')?;
            let (mode, rest) = bytes.split_at(space);
            let rest = rest.get(1..)?;
            let nul = rest.iter().position(|byte| *byte == 0)?;
            let (name, rest) = rest.split_at(nul);
            let (id, rest) = rest.get(1..)?.split_at_checked(like.byte_length())?;
            entries.push(TreeEntry {
                mode: String::from_utf8(mode.to_vec()).ok()?,
                name: name.to_vec(),
                id: ObjectId::from_bytes(id)?,
            });
            bytes = rest;
        }
        Some(GitTree { entries })
    }

    pub(crate) fn entry(&self, name: &str) -> Option<&TreeEntry> {
        self.entries
            .iter()
            .find(|entry| entry.name == name.as_bytes())
    }

    /// Adds an entry, or replaces the one with the same name.
    pub(crate) fn set(&mut self, entry: TreeEntry) {
        self.remove(&entry.name);
        self.entries.push(entry);
    }

    pub(crate) fn remove(&mut self, name: &[u8]) {
        self.entries.retain(|entry| entry.name != name);
    }

    /// The input of `git mktree -z --batch`.
    pub(crate) fn to_mktree(&self) -> Vec<u8> {
        let mut lines = Vec::new();
        for entry in &self.entries {
            let kind = match entry.mode.as_str() {
                DIRECTORY => "tree",
                SUBMODULE => "commit",
                _ => "blob",
            };
            lines.extend(format!("{} {kind} {}\t", entry.mode, entry.id).into_bytes());
            lines.extend(&entry.name);
            lines.push(0);
        }
        lines.push(0);
        lines
    }
}

impl TreeEntry {
    pub(crate) fn is_directory(&self) -> bool {
        self.mode == DIRECTORY
    }

    pub(crate) fn is_submodule(&self) -> bool {
        self.mode == SUBMODULE
    }
}
