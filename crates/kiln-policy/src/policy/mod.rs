//! The decision: one function, one way to run it, all files.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kiln_runtime::{FunctionSpec, KeepAnswers, Network, Target};
use kiln_store::SignatureRequirement;

use crate::refusal::{PolicyRefusal, RefusalReason, RulePlace};
use crate::scope::{CanonicalImage, RuleScope, canonical_image};
use crate::way::RunWay;

/// The files that apply. Each of them must allow a function.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Policy {
    pub files: Vec<PolicyFile>,
}

/// A valid `policy.yaml`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PolicyFile {
    pub(crate) path: Arc<str>,
    pub(crate) default: Setting<PolicyDefault>,
    pub(crate) rules: Vec<Rule>,
    pub(crate) exec: Option<Setting<Switch>>,
    pub(crate) starlark: Option<Setting<Switch>>,
}

/// What happens to functions without a rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PolicyDefault {
    Allow,
    /// They run, with a warning.
    Warn,
    Deny,
}

/// `allow` or `deny`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Switch {
    Allow,
    Deny,
}

/// A value and its line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) line: usize,
}

/// A rule for images.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Rule {
    pub(crate) scope: RuleScope,
    pub(crate) line: usize,
    /// `None` means every way.
    pub(crate) allow: Option<Vec<RunWay>>,
    pub(crate) requires_digest: bool,
    /// The image has to have all of them.
    pub(crate) signatures: Vec<Setting<Arc<SignatureRequirement>>>,
    pub(crate) network: Switch,
    pub(crate) max: PolicyMax,
    /// `None` leaves it to the program.
    pub(crate) cache: Option<Switch>,
}

/// Limits of a function.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PolicyMax {
    pub time: Option<Duration>,
    /// In bytes.
    pub memory: Option<u64>,
}

/// How an allowed function runs.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Permission {
    pub max: PolicyMax,
    pub answers: KeepAnswers,
    /// The caller verifies all of them before the function runs.
    pub signatures: Vec<RequiredSignature>,
    /// The default that allows the function with a warning.
    pub warning: Option<RulePlace>,
}

/// A signature that an image has to have, and the rule that requires it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequiredSignature {
    pub requirement: Arc<SignatureRequirement>,
    /// The `match` of the rule.
    pub rule: String,
    pub place: RulePlace,
}

impl RequiredSignature {
    /// The files of the keys, one of which is enough.
    pub fn key_names(&self) -> String {
        let keys = self.requirement.keys.iter();
        keys.map(|key| key.name()).collect::<Vec<_>>().join(" or ")
    }

    /// The refusal of an image whose signature was not verified.
    pub fn refusal(&self, function: &str, problem: String) -> PolicyRefusal {
        PolicyRefusal {
            function: function.to_owned(),
            place: self.place.clone(),
            reason: RefusalReason::Signature {
                rule: self.rule.clone(),
                problem,
            },
        }
    }
}

/// Which rules decide about a function, and how it may run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Explanation {
    /// For each file, what decides (`rule "…"`, `default: deny`, `exec: deny`) and where it is.
    pub deciders: Vec<(String, RulePlace)>,
    /// The ways that all files allow. Programs and scripts run in one way only.
    pub ways: Vec<RunWay>,
    /// The first refusal, if no way is left.
    pub refusal: Option<PolicyRefusal>,
    pub max: PolicyMax,
    /// The signatures that the image has to have, if it runs as one.
    pub signatures: Vec<RequiredSignature>,
    pub warning: Option<RulePlace>,
}

/// The name of the catalog's function that runs scripts.
const STARLARK: &str = "starlark";

impl Policy {
    /// The files of the keys that sign.
    pub(crate) fn key_files(&self) -> Vec<PathBuf> {
        let rules = self.files.iter().flat_map(|file| &file.rules);
        let signatures = rules.flat_map(|rule| &rule.signatures);
        let keys = signatures.flat_map(|signature| &signature.value.keys);
        keys.map(|key| PathBuf::from(key.name())).collect()
    }

    /// Whether a function may run in one way. `function` has a full image name. `builtin` is the name of the built-in
    /// function that the image stands for, if it is another.
    pub fn decide(
        &self,
        function: &FunctionSpec,
        way: RunWay,
        builtin: Option<&str>,
    ) -> Result<Permission, PolicyRefusal> {
        let mut permission = Permission::default();
        for file in &self.files {
            permission = permission.and(file.decide(function, way, builtin)?);
        }
        Ok(permission)
    }

    /// Whether a script that a package declares may run.
    pub fn decide_script(&self, path: &str) -> Result<Permission, PolicyRefusal> {
        let mut permission = Permission::default();
        for file in &self.files {
            permission =
                permission.and(file.decide_by(file.starlark, path, RefusalReason::Starlark)?);
        }
        Ok(permission)
    }

    /// Everything that the files say about a function.
    pub fn explain(&self, function: &FunctionSpec) -> Explanation {
        let ways: &[RunWay] = match function.target {
            Target::Image(_) => &RunWay::ALL,
            Target::Exec(_) | Target::Program(_) => &[RunWay::Exec],
        };
        let decisions = ways
            .iter()
            .map(|way| (*way, self.decide(function, *way, None)));
        let mut explanation = Explanation {
            deciders: self
                .files
                .iter()
                .map(|file| file.decider(function))
                .collect(),
            ways: Vec::new(),
            refusal: None,
            max: PolicyMax::default(),
            signatures: Vec::new(),
            warning: None,
        };
        for (way, decision) in decisions {
            match decision {
                Ok(permission) => {
                    explanation.ways.push(way);
                    explanation.max = permission.max;
                    if explanation.signatures.is_empty() {
                        explanation.signatures = permission.signatures;
                    }
                    explanation.warning = permission.warning;
                }
                Err(refusal) => {
                    explanation.refusal.get_or_insert(refusal);
                }
            }
        }
        if !explanation.ways.is_empty() {
            explanation.refusal = None;
        }
        explanation
    }
}

impl PolicyFile {
    fn decide(
        &self,
        function: &FunctionSpec,
        way: RunWay,
        builtin: Option<&str>,
    ) -> Result<Permission, PolicyRefusal> {
        let name = function.name();
        let image = match &function.target {
            Target::Image(image) => image,
            Target::Exec(_) | Target::Program(_) => {
                return self.decide_by(self.exec, name, RefusalReason::Exec);
            }
        };
        let refuse = |line, reason| Err(self.refusal(name, line, reason));
        let image = match canonical_image(image) {
            Ok(image) => image,
            Err(error) => return refuse(1, RefusalReason::Reference(error)),
        };
        if let Some(line) = self.denied_script(&image, builtin) {
            return refuse(line, RefusalReason::Starlark);
        }
        if let (RunWay::Exec, Some(line)) = (way, denied(self.exec)) {
            return refuse(line, RefusalReason::Exec);
        }
        let Some(found) = self.rule(&image) else {
            return self.decide_by(None, name, RefusalReason::Default);
        };
        let rule = found.scope.text().to_owned();
        if let Some(allowed) = &found.allow
            && !allowed.contains(&way)
        {
            let allowed = allowed.clone();
            return refuse(found.line, RefusalReason::Way { rule, allowed });
        }
        if found.requires_digest && !image.has_digest && !is_pinned(function, way) {
            return refuse(found.line, RefusalReason::Digest { rule, way });
        }
        if found.network == Switch::Deny && function.network == Network::Host {
            return refuse(found.line, RefusalReason::Network { rule });
        }
        if let (RunWay::Exec, Some(signature)) = (way, found.signatures.first()) {
            return refuse(signature.line, RefusalReason::Program { rule });
        }
        let required = found.signatures.iter().map(|signature| RequiredSignature {
            requirement: Arc::clone(&signature.value),
            rule: rule.clone(),
            place: self.place(signature.line),
        });
        Ok(Permission {
            max: found.max,
            answers: match found.cache {
                None => KeepAnswers::AsConfigured,
                Some(Switch::Allow) => KeepAnswers::Assumed,
                Some(Switch::Deny) => KeepAnswers::Never,
            },
            signatures: match way.runs_image() {
                true => required.collect(),
                false => Vec::new(),
            },
            warning: None,
        })
    }

    /// The decision of a setting, or of the default without one.
    fn decide_by(
        &self,
        setting: Option<Setting<Switch>>,
        name: &str,
        reason: RefusalReason,
    ) -> Result<Permission, PolicyRefusal> {
        let line = self.default.line;
        match (setting, self.default.value) {
            (
                Some(Setting {
                    value: Switch::Deny,
                    line,
                }),
                _,
            ) => Err(self.refusal(name, line, reason)),
            (Some(_), _) | (None, PolicyDefault::Allow) => Ok(Permission::default()),
            (None, PolicyDefault::Warn) => Ok(Permission {
                warning: Some(self.place(line)),
                ..Permission::default()
            }),
            (None, PolicyDefault::Deny) => Err(self.refusal(name, line, RefusalReason::Default)),
        }
    }

    /// What decides about a function.
    fn decider(&self, function: &FunctionSpec) -> (String, RulePlace) {
        let switch = |name: &str, setting: Option<Setting<Switch>>| {
            let Setting { value, line } = setting?;
            let value = match value {
                Switch::Allow => "allow",
                Switch::Deny => "deny",
            };
            Some((format!("{name}: {value}"), line))
        };
        let decider = match &function.target {
            Target::Exec(_) | Target::Program(_) => switch("exec", self.exec),
            Target::Image(image) => canonical_image(image).ok().and_then(|image| {
                match self.denied_script(&image, None) {
                    Some(_) => switch("starlark", self.starlark),
                    None => self.rule(&image).map(|rule| {
                        (
                            format!("rule {}", kiln_go::quote(rule.scope.text())),
                            rule.line,
                        )
                    }),
                }
            }),
        };
        let (text, line) = decider.unwrap_or_else(|| {
            let default = match self.default.value {
                PolicyDefault::Allow => "allow",
                PolicyDefault::Warn => "warn",
                PolicyDefault::Deny => "deny",
            };
            (format!("default: {default}"), self.default.line)
        });
        (text, self.place(line))
    }

    /// The rule with the longest `match`.
    fn rule(&self, image: &CanonicalImage) -> Option<&Rule> {
        let rules = self.rules.iter();
        let matching = rules.filter(|rule| rule.scope.matches(&image.repository));
        matching.max_by_key(|rule| rule.scope.text().len())
    }

    /// The line that denies scripts, if the image runs one.
    fn denied_script(&self, image: &CanonicalImage, builtin: Option<&str>) -> Option<usize> {
        let is_script = |repository: &str| repository.rsplit('/').next() == Some(STARLARK);
        let builtin = builtin.and_then(|builtin| canonical_image(builtin).ok());
        let is_script = is_script(&image.repository)
            || builtin.is_some_and(|builtin| is_script(&builtin.repository));
        denied(self.starlark).filter(|_| is_script)
    }

    fn refusal(&self, function: &str, line: usize, reason: RefusalReason) -> PolicyRefusal {
        PolicyRefusal {
            function: function.to_owned(),
            place: self.place(line),
            reason,
        }
    }

    fn place(&self, line: usize) -> RulePlace {
        RulePlace {
            file: Arc::clone(&self.path),
            line,
        }
    }
}

/// Whether a lock file names exactly what runs in this way: the image by its digest, or the built-in function.
fn is_pinned(function: &FunctionSpec, way: RunWay) -> bool {
    let Some(pin) = &function.pin else {
        return false;
    };
    match way {
        RunWay::Native => pin.native.is_some(),
        // A program that the image is mapped to is not in a lock file.
        RunWay::Exec => false,
        _ => pin.digest.is_some(),
    }
}

/// The line of a setting that denies.
fn denied(setting: Option<Setting<Switch>>) -> Option<usize> {
    setting
        .filter(|setting| setting.value == Switch::Deny)
        .map(|setting| setting.line)
}

impl Permission {
    /// What both allow.
    fn and(self, other: Permission) -> Permission {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Permission {
            max: PolicyMax {
                time: least(self.max.time, other.max.time),
                memory: least(self.max.memory, other.max.memory),
            },
            answers: match (self.answers, other.answers) {
                (KeepAnswers::Never, _) | (_, KeepAnswers::Never) => KeepAnswers::Never,
                (KeepAnswers::AsConfigured, answers) => answers,
                (KeepAnswers::Assumed, _) => KeepAnswers::Assumed,
            },
            signatures: [self.signatures, other.signatures].concat(),
            warning: self.warning.or(other.warning),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
