//! Policies: which functions may run, and how.
//!
//! [`PolicyFile::parse`] reads `policy.yaml` and the keys that it names, [`Policy::decide`] decides about one function and one
//! [`RunWay`], without touching anything. [`LoadedPolicy`] reads the files that apply ([`PolicyPaths`]) and follows their changes.
//!
//! Invariants: a file with anything that is not understood is refused as a whole. Every file must allow a function, so that
//! no file loosens another. Nothing is read from a package, and nothing here runs a function.

mod loaded;
mod parse;
mod policy;
mod refusal;
mod scope;
mod way;

pub use loaded::{LoadedPolicy, PolicyEvent, PolicyLoadError, PolicyPaths, SYSTEM_POLICY};
pub use parse::{InvalidPolicy, PolicyProblem};
pub use policy::{
    Explanation, Permission, Policy, PolicyDefault, PolicyFile, PolicyMax, RequiredSignature,
};
pub use refusal::{PolicyRefusal, RefusalReason, RulePlace};
pub use scope::canonical_image;
pub use way::RunWay;
