//! What children see, and what confined ones cannot do.

mod descriptors;

#[cfg(target_os = "linux")]
mod attacks;
#[cfg(target_os = "linux")]
mod bounds;
#[cfg(target_os = "linux")]
mod scratch;
#[cfg(target_os = "linux")]
mod users;
#[cfg(target_os = "linux")]
mod world;
