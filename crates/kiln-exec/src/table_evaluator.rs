//! Images that a table maps to programs of this machine. The file of the table may change.

use std::path::PathBuf;
use std::sync::Arc;

use kiln_runtime::{
    Evaluator, FileValue, FileValueError, FindError, Found, FunctionSpec, Refresh, Target,
};

use crate::evaluator::ExecEvaluator;
use crate::image_table::ImageTable;

/// Runs the programs that a table lists for images. The table is read again when its file has changed; if the new file
/// is invalid, the old table stays in force.
pub struct TableEvaluator {
    table: FileValue<ImageTable>,
    prefix: String,
    exec: ExecEvaluator,
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

impl TableEvaluator {
    /// The table is in the file `config`, its programs are in `functions`, an absolute path. `exec` runs them, `prefix`
    /// is put before names without a registry, and `listener` is called when the table changes.
    pub fn load(
        config: PathBuf,
        functions: PathBuf,
        prefix: String,
        exec: ExecEvaluator,
        listener: impl Fn(TableEvent<'_>) + Send + Sync + 'static,
    ) -> Result<TableEvaluator, FileValueError> {
        let name = config.display().to_string();
        let table = FileValue::load(vec![config], move |contents| {
            let text = contents.first().map(Vec::as_slice).unwrap_or_default();
            ImageTable::parse(text, &functions).map_err(|error| format!("{name}: {error}"))
        })?;
        Ok(TableEvaluator {
            table,
            prefix,
            exec,
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
}

impl Evaluator for TableEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let Target::Image(image) = &function.target else {
            return Err(FindError::not_found(function));
        };
        let table = self.table();
        let program = table.find(image, &self.prefix);
        let program = program.ok_or_else(|| FindError::not_found(function))?;
        let program = program.to_string_lossy().into_owned();
        self.exec.find(&FunctionSpec::new(Target::Program(program)))
    }
}
