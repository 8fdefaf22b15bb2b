//! Stand-in.
/// A change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileChange {
    /// Path.
    pub path: String,
    /// Change.
    pub change: Change,
}
/// Change.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Write.
    Write(Vec<u8>),
    /// Delete.
    Delete,
}
