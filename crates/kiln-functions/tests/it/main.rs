//! Native functions as their users see them.

mod recorded;
mod runtime;
