//! Every environment variable that kiln reads.

/// Whose behaviour to show when `--compat` is not given: `kiln`, `kpt` or `kpt-v0.39`.
pub(crate) const KILN_COMPAT: &str = "KILN_COMPAT";
