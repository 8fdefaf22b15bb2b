//! The function as a whole.
