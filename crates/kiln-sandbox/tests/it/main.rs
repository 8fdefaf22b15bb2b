//! Open files of children, and attacks of confined ones.

mod descriptors;

#[cfg(target_os = "linux")]
mod attacks;
#[cfg(target_os = "linux")]
mod bounds;
#[cfg(target_os = "linux")]
mod chosen_paths;
#[cfg(target_os = "linux")]
mod escapes;
#[cfg(target_os = "linux")]
mod fixture;
#[cfg(target_os = "linux")]
mod image;
#[cfg(target_os = "linux")]
mod image_starts;
#[cfg(target_os = "linux")]
mod refused;
#[cfg(target_os = "linux")]
mod refused_calls;
#[cfg(target_os = "linux")]
mod scratch;
#[cfg(target_os = "linux")]
mod users;
