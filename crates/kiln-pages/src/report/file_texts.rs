//! The contents of files after the run.

use std::collections::HashMap;

use kiln_krm::results::ResultItem;

use super::changed_files::ChangedFile;
use super::lines::FileLines;

/// Finds lines in files. Functions report thousands of results on one file, so each file is read and parsed once.
pub(super) struct FileTexts<'a> {
    changed: HashMap<&'a str, &'a ChangedFile>,
    read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    parsed: HashMap<String, Option<FileLines>>,
}

impl<'a> FileTexts<'a> {
    pub(super) fn new(
        files: &'a [ChangedFile],
        read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> FileTexts<'a> {
        FileTexts {
            changed: files.iter().map(|file| (&*file.path, file)).collect(),
            read,
            parsed: HashMap::new(),
        }
    }

    /// The line that a result is about.
    pub(super) fn line(&mut self, item: &ResultItem) -> Option<usize> {
        let file = item.file.as_ref()?;
        if !self.parsed.contains_key(&file.path) {
            let lines = self.parse(&file.path);
            self.parsed.insert(file.path.clone(), lines);
        }
        let lines = self.parsed.get(&file.path)?.as_ref()?;
        let field = item.field.as_ref().map_or("", |field| &field.path);
        lines.line(usize::try_from(file.index).ok()?, field)
    }

    fn parse(&self, path: &str) -> Option<FileLines> {
        match self.changed.get(path) {
            Some(changed) => {
                let text = changed.after.as_ref().or(changed.before.as_ref())?;
                Some(FileLines::of(text))
            }
            None => Some(FileLines::of(&(self.read)(path)?)),
        }
    }
}
