//! Conflicts: different changes of both sides.
//!
//! A merge never stops at a conflict: it takes one side and records which one.

use std::fmt;

/// A change of the package and another of its upstream at one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The file, relative to the package.
    pub path: String,
    /// The resource, as `Kind namespace/name`; `None` for a whole file.
    pub resource: Option<String>,
    /// The field, as `spec.replicas`; `None` for a whole resource or file.
    pub field: Option<String>,
    /// The value in the old upstream.
    pub origin: Option<String>,
    /// The value in the package.
    pub local: Option<String>,
    /// The value in the new upstream.
    pub upstream: Option<String>,
    pub taken: Taken,
}

/// The side that a merge has taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Taken {
    Local,
    Upstream,
}

impl Taken {
    pub fn as_str(self) -> &'static str {
        match self {
            Taken::Local => "local",
            Taken::Upstream => "upstream",
        }
    }
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        for part in [&self.resource, &self.field].into_iter().flatten() {
            write!(f, ": {part}")?;
        }
        let side = |text: &Option<String>| match text {
            Some(text) => text.clone(),
            None => "nothing".to_owned(),
        };
        write!(
            f,
            ": was {}, local has {}, upstream has {}; {} taken",
            side(&self.origin),
            side(&self.local),
            side(&self.upstream),
            self.taken.as_str(),
        )
    }
}
