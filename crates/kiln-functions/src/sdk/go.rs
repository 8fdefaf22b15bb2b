//! What kpt's SDK for Go offers to functions.
