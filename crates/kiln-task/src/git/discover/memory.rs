//! What has been seen before, kept in a file. It is about commits, which never change, so it is never wrong; a file that
//! cannot be read or written only makes the next look slower.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::look::{Packages, Place, Seen, Sight, Unseen};
use crate::git::id::ObjectId;
use crate::git::objects::Identity;

/// Says what kind of file it is; another version is another file.
const MAGIC: &[u8] = b"kiln package revisions 1\n";

/// Tells files apart that are written at the same time.
static TURN: AtomicU64 = AtomicU64::new(0);

/// What has been seen before.
pub(super) struct Memory {
    file: PathBuf,
    seen: HashMap<Place, Seen>,
    packages: HashMap<Place, Packages>,
    /// What was asked for; the rest is forgotten.
    used: HashSet<Place>,
    is_changed: bool,
}

impl Memory {
    /// What a file remembers.
    pub(super) fn load(file: &Path) -> Memory {
        let mut memory = Memory {
            file: file.to_owned(),
            seen: HashMap::new(),
            packages: HashMap::new(),
            used: HashSet::new(),
            is_changed: false,
        };
        let bytes = std::fs::read(file).unwrap_or_default();
        if let Some(bytes) = bytes.strip_prefix(MAGIC) {
            let is_whole = memory.read(bytes).is_some();
            if !is_whole {
                memory.seen.clear();
                memory.packages.clear();
            }
        }
        memory
    }

    pub(super) fn knows(&self, place: &Place) -> bool {
        self.seen.contains_key(place)
    }

    pub(super) fn recall(&mut self, place: &Place) -> Option<Seen> {
        let seen = self.seen.get(place).cloned();
        self.used.insert(place.clone());
        seen
    }

    pub(super) fn remember(&mut self, place: &Place, seen: Seen) {
        self.is_changed = true;
        self.seen.insert(place.clone(), seen);
    }

    pub(super) fn recall_packages(&self, place: &Place) -> Option<Packages> {
        self.packages.get(place).cloned()
    }

    /// Only one state of the branch is remembered.
    pub(super) fn remember_packages(&mut self, place: &Place, packages: Packages) {
        self.is_changed = true;
        self.packages.clear();
        self.packages.insert(place.clone(), packages);
    }

    /// Writes the file, if there is something new. Whoever reads it meanwhile finds the old one or the new one.
    pub(super) fn save(mut self) {
        if !self.is_changed {
            return;
        }
        self.seen.retain(|place, _| self.used.contains(place));
        let bytes = self.to_bytes();
        let mut beside = self.file.clone().into_os_string();
        let turn = TURN.fetch_add(1, Ordering::Relaxed);
        beside.push(format!(".{}-{turn}", std::process::id()));
        let beside = PathBuf::from(beside);
        let directory = self.file.parent().unwrap_or(Path::new("."));
        let written = std::fs::create_dir_all(directory)
            .and_then(|()| std::fs::write(&beside, bytes))
            .and_then(|()| std::fs::rename(&beside, &self.file));
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for (place, seen) in &self.seen {
            let kind = match seen {
                Ok(_) => b's',
                Err(Unseen::NoKptfile) => b'k',
                Err(Unseen::NoCommit) => b'c',
            };
            bytes.push(kind);
            put_place(&mut bytes, place);
            if let Ok(sight) = seen {
                put(&mut bytes, sight.commit.as_str().as_bytes());
                put(&mut bytes, sight.author.name.as_bytes());
                put(&mut bytes, sight.author.email.as_bytes());
                put(&mut bytes, &sight.time.to_le_bytes());
                put(&mut bytes, sight.workspace.as_bytes());
                put(&mut bytes, &sight.kptfile);
            }
        }
        for (place, packages) in &self.packages {
            bytes.push(b'p');
            put_place(&mut bytes, place);
            put(&mut bytes, packages.len().to_string().as_bytes());
            for (directory, kptfile) in packages {
                put(&mut bytes, directory.as_bytes());
                put(&mut bytes, kptfile);
            }
        }
        bytes
    }

    /// None if the bytes are not what was written.
    fn read(&mut self, mut bytes: &[u8]) -> Option<()> {
        let bytes = &mut bytes;
        while let Some((kind, rest)) = bytes.split_first() {
            *bytes = rest;
            let place = take_place(bytes)?;
            match kind {
                b's' => {
                    let sight = take_sight(bytes)?;
                    self.seen.insert(place, Ok(sight));
                }
                b'k' => {
                    self.seen.insert(place, Err(Unseen::NoKptfile));
                }
                b'c' => {
                    self.seen.insert(place, Err(Unseen::NoCommit));
                }
                b'p' => {
                    let count: usize = take_text(bytes)?.parse().ok()?;
                    let mut packages = Packages::new();
                    for _ in 0..count {
                        let directory = take_text(bytes)?;
                        packages.push((directory, Arc::from(take(bytes)?)));
                    }
                    self.packages.insert(place, packages);
                }
                _ => return None,
            }
        }
        Some(())
    }
}

fn put(bytes: &mut Vec<u8>, field: &[u8]) {
    // What is remembered is never as large as this could not tell.
    let length = u32::try_from(field.len()).unwrap_or(u32::MAX);
    bytes.extend(length.to_le_bytes());
    bytes.extend(field);
}

fn put_place(bytes: &mut Vec<u8>, place: &Place) {
    put(bytes, place.id.as_str().as_bytes());
    put(bytes, place.directory.as_bytes());
}

fn take<'a>(bytes: &mut &'a [u8]) -> Option<&'a [u8]> {
    let (length, rest) = bytes.split_at_checked(4)?;
    let length = u32::from_le_bytes(length.try_into().ok()?);
    let (field, rest) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *bytes = rest;
    Some(field)
}

fn take_text(bytes: &mut &[u8]) -> Option<String> {
    let field = take(bytes)?;
    std::str::from_utf8(field).ok().map(str::to_owned)
}

fn take_place(bytes: &mut &[u8]) -> Option<Place> {
    Some(Place {
        id: ObjectId::new(&take_text(bytes)?)?,
        directory: take_text(bytes)?,
    })
}

fn take_sight(bytes: &mut &[u8]) -> Option<Sight> {
    Some(Sight {
        commit: ObjectId::new(&take_text(bytes)?)?,
        author: Identity {
            name: take_text(bytes)?,
            email: take_text(bytes)?,
        },
        time: i64::from_le_bytes(take(bytes)?.try_into().ok()?),
        workspace: take_text(bytes)?,
        kptfile: Arc::from(take(bytes)?),
    })
}

#[cfg(test)]
mod tests {
    use super::{MAGIC, Memory, Place, Sight, Unseen};
    use crate::git::id::ObjectId;
    use crate::git::objects::Identity;

    #[test]
    fn what_was_seen_is_remembered_and_damage_is_forgotten() {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let file = directory.path().join("new/memory");
        let id = ObjectId::new(&"a".repeat(40)).expect("an id");
        let place = |directory: &str| Place::new(&id, directory);
        let sight = Sight {
            commit: id.clone(),
            author: Identity::porch(),
            time: -7,
            workspace: "w".to_owned(),
            kptfile: b"text".as_slice().into(),
        };
        let packages = vec![("d".to_owned(), b"other".as_slice().into())];
        let mut memory = Memory::load(&file);
        memory.remember(&place("a"), Ok(sight.clone()));
        memory.remember(&place("b"), Err(Unseen::NoKptfile));
        memory.remember(&place("unused"), Err(Unseen::NoCommit));
        memory.remember_packages(&place(""), packages.clone());
        for directory in ["a", "b"] {
            assert!(memory.recall(&place(directory)).is_some());
        }
        memory.save();
        let mut memory = Memory::load(&file);
        assert_eq!(memory.recall(&place("a")), Some(Ok(sight)));
        assert_eq!(memory.recall(&place("b")), Some(Err(Unseen::NoKptfile)));
        assert!(!memory.knows(&place("unused")));
        assert_eq!(memory.recall_packages(&place("")), Some(packages));
        let whole = std::fs::read(&file).expect("it is there");
        for length in MAGIC.len() + 1..whole.len() {
            std::fs::write(&file, &whole[..length]).expect("it can be written");
            let memory = Memory::load(&file);
            // A cut between two entries cannot be seen, and does no harm.
            assert!(memory.seen.len() + memory.packages.len() < 3);
        }
    }
}
