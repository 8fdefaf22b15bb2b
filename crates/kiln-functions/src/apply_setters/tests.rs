//! Setters of all kinds, and what is said when they cannot be applied.
