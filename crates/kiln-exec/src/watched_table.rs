//! Images that a table maps to programs of this machine. The file of the table may change.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kiln_runtime::{FileValue, FileValueError, Refresh};

use crate::image_table::ImageTable;

/// A table that is read again when its file has changed. If the new file is invalid, the old table stays in force.
pub struct WatchedTable {
    table: FileValue<ImageTable>,
    prefix: String,
    listener: Box<Listener>,
}

type Listener = dyn Fn(TableEvent<'_>) + Send + Sync;

/// A change of the table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TableEvent<'a> {
    Replaced(&'a ImageTable),
    /// The file has changed and is invalid, for this reason; the old table stays. Reported once.
    Kept(&'a str),
}

impl WatchedTable {
    /// The table is in the file `config`, its programs are in `functions`, an absolute path. `prefix` is put before names
    /// without a registry, and `listener` is called when the table changes.
    pub fn load(
        config: PathBuf,
        functions: PathBuf,
        prefix: String,
        listener: impl Fn(TableEvent<'_>) + Send + Sync + 'static,
    ) -> Result<WatchedTable, FileValueError> {
        let name = config.display().to_string();
        let table = FileValue::load(vec![config], move |contents| {
            let text = contents.first().map(Vec::as_slice).unwrap_or_default();
            ImageTable::parse(text, &functions).map_err(|error| format!("{name}: {error}"))
        })?;
        Ok(WatchedTable {
            table,
            prefix,
            listener: Box::new(listener),
        })
    }

    /// The current table.
    pub fn table(&self) -> Arc<ImageTable> {
        let refreshed = self.table.refresh();
        let table = self.table.get();
        match &refreshed {
            Refresh::Unchanged => {}
            Refresh::Changed => (self.listener)(TableEvent::Replaced(&table)),
            Refresh::Failed(reason) => (self.listener)(TableEvent::Kept(reason)),
        }
        table
    }

    /// The program that the table lists for an image.
    pub fn program(&self, image: &str) -> Option<PathBuf> {
        let table = self.table();
        table.find(image, &self.prefix).map(Path::to_owned)
    }
}
