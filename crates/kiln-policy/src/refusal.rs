//! Why a policy refuses a function: the rule, and what to do.

use std::fmt;
use std::sync::Arc;

use kiln_go::quote;
use kiln_oci::ImageReferenceError;

use crate::way::RunWay;

/// A line of a policy file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RulePlace {
    pub file: Arc<str>,
    /// From 1.
    pub line: usize,
}

impl fmt::Display for RulePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A function that a policy does not allow.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the policy refuses function {}: {reason} ({place})", quote(function))]
pub struct PolicyRefusal {
    pub function: String,
    pub place: RulePlace,
    pub reason: RefusalReason,
}

/// What a function lacks. `rule` is the `match` of the rule that decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RefusalReason {
    /// No rule is for it.
    Default,
    /// The rule allows other ways to run it, or none.
    Way {
        rule: String,
        allowed: Vec<RunWay>,
    },
    Digest {
        rule: String,
        /// A built-in function has no digest of its own.
        way: RunWay,
    },
    Network {
        rule: String,
    },
    /// A signature is required, and none was verified.
    Signature {
        rule: String,
        problem: String,
    },
    /// A signature is required, and a program runs in place of the image.
    Program {
        rule: String,
    },
    /// Programs are denied.
    Exec,
    /// Scripts are denied.
    Starlark,
    /// Without a valid reference, no rule can be chosen.
    Reference(ImageReferenceError),
}

impl fmt::Display for RefusalReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RefusalReason::Default => f.write_str("no rule matches, and the default is deny"),
            RefusalReason::Way { rule, allowed } if allowed.is_empty() => {
                write!(f, "rule {} allows no way to run it", quote(rule))
            }
            RefusalReason::Way { rule, allowed } => {
                let names: Vec<&str> = allowed.iter().map(|way| way.name()).collect();
                let names = names.join(", ");
                write!(
                    f,
                    "rule {} allows only these ways to run it: {names}",
                    quote(rule)
                )
            }
            RefusalReason::Digest { rule, way: _ } => {
                write!(f, "rule {} requires a digest", quote(rule))
            }
            RefusalReason::Network { rule } => {
                write!(f, "rule {} denies the network", quote(rule))
            }
            RefusalReason::Signature { rule, problem } => {
                write!(f, "rule {} requires a signature: {problem}", quote(rule))
            }
            RefusalReason::Program { rule } => write!(
                f,
                "rule {} requires a signature, and a program in place of the image has none",
                quote(rule)
            ),
            RefusalReason::Exec => f.write_str("programs are denied"),
            RefusalReason::Starlark => f.write_str("Starlark scripts are denied"),
            RefusalReason::Reference(error) => write!(f, "{error}"),
        }
    }
}

impl PolicyRefusal {
    /// What the user can do.
    pub fn hint(&self) -> String {
        let file = &self.place.file;
        match &self.reason {
            RefusalReason::Default => {
                format!("add a rule for the image to {file}, or ask its owner to do so")
            }
            RefusalReason::Way { .. } => format!(
                "use another function, or add a way to run it to `allow` in {file}; \
                 `kiln policy check` shows how functions may run"
            ),
            RefusalReason::Digest {
                way: RunWay::Native,
                ..
            } => "run `kiln lock`, so that kiln.lock names this built-in function; or write \
                  the image as NAME@sha256:DIGEST, which runs the image itself"
                .to_owned(),
            RefusalReason::Digest { .. } => {
                "write the image as NAME@sha256:DIGEST; `kiln image pull` prints the digest"
                    .to_owned()
            }
            RefusalReason::Network { .. } => {
                "run the function without --network, or allow the network in the rule".to_owned()
            }
            RefusalReason::Signature { .. } => {
                "sign the image with `cosign sign --key KEY IMAGE@DIGEST`; \
                 `kiln image verify IMAGE --key FILE` checks its signatures"
                    .to_owned()
            }
            RefusalReason::Program { .. } => {
                format!("run the image itself, or remove `signature` from the rule in {file}")
            }
            RefusalReason::Exec => format!("use an image, or set `exec: allow` in {file}"),
            RefusalReason::Starlark => {
                format!("use another function, or set `starlark: allow` in {file}")
            }
            RefusalReason::Reference(_) => {
                "write the image as HOST/NAME:TAG or HOST/NAME@DIGEST".to_owned()
            }
        }
    }
}
