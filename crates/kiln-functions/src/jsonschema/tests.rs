//! Kubernetes types as schemas, and what is said of values that break them.
