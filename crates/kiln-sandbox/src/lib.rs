//! What keeps other people's programs in their place.
//!
//! The only crate with unsafe code; every block says why it is sound, and there are as few as can be.

mod descriptors;

pub use descriptors::keep_descriptors;
