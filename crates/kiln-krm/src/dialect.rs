//! The version of the original tools that is followed where they differ.

/// A version of the original command and its library.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Hash)]
pub enum Dialect {
    /// Today's: two families of annotations, sequence styles kept, bare sequences wrapped.
    #[default]
    Current,
    /// v0.39: the older keys only, always compact, text that happens to be JSON written as JSON.
    Legacy,
}
