//! What a function says besides its answer, passed on while it says it.

use std::sync::{Arc, Mutex, PoisonError};

use kiln_runtime::{RunContext, StderrListener};

use crate::ui::Ui;

/// Passes on what one function says.
pub(super) struct StderrForwarder {
    ui: Ui,
    function: String,
    /// A line that is not whole yet.
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

    /// The circumstances of a call in which the function is heard.
    pub(super) fn heard_in(&self, ctx: &RunContext) -> RunContext {
        let (ui, function) = (self.ui.clone(), self.function.clone());
        let rest = Arc::clone(&self.rest);
        let hear = move |said: &[u8]| {
            let mut rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
            ui.pass_on(&function, said, &mut rest);
        };
        RunContext {
            on_stderr: Some(StderrListener::new(hear)),
            ..ctx.clone()
        }
    }

    /// The function has ended.
    pub(super) fn end(self) {
        let rest = self.rest.lock().unwrap_or_else(PoisonError::into_inner);
        self.ui.pass_on_rest(&self.function, &rest);
    }
}
