//! The kiln binary from the outside.
