//! What a script may use. The one place to change when calls get budgets of their own.

use kiln_starlark::Limits;

/// The limits of a run, to which the input adds what it needs itself (`decode`).
pub(super) fn limits() -> Limits {
    Limits::default()
}
