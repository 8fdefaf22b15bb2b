//! Functions that are local executables.
