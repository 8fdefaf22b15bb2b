//! Native functions as their users see them.
