//! Policies, constraints and what is said of them.
