//! Prints the standard error of a function while the function runs.

use std::sync::{Arc, Mutex, PoisonError};

use kiln_runtime::{RunContext, StderrListener};

use crate::ui::Ui;

pub(super) struct StderrForwarder {
    ui: Ui,
    function: String,
    /// An incomplete line.
    rest: Arc<Mutex<Vec<u8>>>,
}

impl StderrForwarder {
    pub(super) fn new(ui: &Ui, function: &str) -> StderrForwarder {
        StderrForwarder {
            ui: ui.clone(),
            function: function.to_owned(),
            rest: Arc::default(),
        }
    }

    /// The context of a call whose standard error is printed.
    pub(super) fn listen_in(&self, ctx: &RunContext) -> RunContext {
        let (ui, function) = (self.ui.clone(), self.function.clone());
        let rest = Arc::clone(&self.rest);
        let forward = move |output: &[u8]| {
            let mut rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
            ui.forward_stderr(&function, output, &mut rest);
        };
        RunContext {
            on_stderr: Some(StderrListener::new(forward)),
            ..ctx.clone()
        }
    }

    /// Prints what is left when the function has ended.
    pub(super) fn end(self) {
        let rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        self.ui.forward_rest(&self.function, &rest);
    }
}
