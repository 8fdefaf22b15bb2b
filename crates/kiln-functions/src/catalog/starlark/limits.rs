//! The limits of a script.

use kiln_starlark::Limits;

/// The limits of a run, to which `decode` adds the needs of the input.
pub(super) fn limits() -> Limits {
    Limits::default()
}
