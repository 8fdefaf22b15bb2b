//! Directories as git keeps them.

use super::super::id::ObjectId;

/// A directory.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Tree {
    pub(crate) entries: Vec<TreeEntry>,
}

/// What a directory holds. Names are bytes: git takes any.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct TreeEntry {
    pub(crate) mode: String,
    pub(crate) name: Vec<u8>,
    pub(crate) id: ObjectId,
}

pub(crate) const DIRECTORY: &str = "40000";
const SUBMODULE: &str = "160000";

impl Tree {
    /// Reads a directory whose objects have names as long as `like`; none if it makes no sense.
    pub(crate) fn parse(mut bytes: &[u8], like: &ObjectId) -> Option<Tree> {
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
        Some(Tree { entries })
    }

    /// The entry of a name.
    pub(crate) fn entry(&self, name: &str) -> Option<&TreeEntry> {
        self.entries
            .iter()
            .find(|entry| entry.name == name.as_bytes())
    }

    /// Puts an entry in the place of the one with its name.
    pub(crate) fn set(&mut self, entry: TreeEntry) {
        self.remove(&entry.name);
        self.entries.push(entry);
    }

    /// Removes the entry of a name.
    pub(crate) fn remove(&mut self, name: &[u8]) {
        self.entries.retain(|entry| entry.name != name);
    }

    /// What `git mktree -z --batch` makes the directory of.
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
