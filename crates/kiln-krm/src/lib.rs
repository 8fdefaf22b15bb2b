//! The KRM vocabulary: resources, ResourceList, results, Kptfile, packages in memory, selectors, image references.

pub mod package;
