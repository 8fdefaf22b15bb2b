//! What both sides changed in different ways, to be told to whoever upgrades.
//!
//! A merge never stops at a conflict: one side is taken, and which one is written down here.

use std::fmt;

/// A place that was changed on both sides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Conflict {
    /// The file, relative to the package.
    pub path: String,
    /// The resource in it, as `Kind namespace/name`; none if the file as a whole is meant.
    pub resource: Option<String>,
    /// The field, as `spec.replicas`; none if all of the resource or file is meant.
    pub field: Option<String>,
    /// What stood there before; none if nothing did.
    pub origin: Option<String>,
    /// What the package has.
    pub local: Option<String>,
    /// What the new upstream has.
    pub upstream: Option<String>,
    /// Whose is in the outcome.
    pub taken: Taken,
}

/// Whose change is in the outcome.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub enum Taken {
    /// The package's own.
    Local,
    /// That of the new upstream.
    Upstream,
}

impl Taken {
    /// One word for it.
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
