//! Parses `policy.yaml`. Everything that is not understood is an error: a policy applies as a whole or not at all.

mod problem;
mod values;

use std::path::Path;
use std::sync::Arc;

use kiln_signature::PublicKey;
use kiln_store::{RepositoryCheck, SignatureRequirement, read_public_key};
use kiln_yaml::{Kind, NodeRef, parse_single};

use crate::policy::{PolicyDefault, PolicyFile, PolicyMax, Rule, Setting, Switch};
use crate::scope::RuleScope;
use crate::way::RunWay;
pub use problem::{InvalidPolicy, PolicyProblem};
use values::{bytes, one_of, text, time, wrong};

/// The only version of the format.
const VERSION: &str = "1";

const FILE_KEYS: &[&str] = &["version", "default", "rules", "exec", "starlark"];
const RULE_KEYS: &[&str] = &["match", "allow", "require", "network", "max", "cache"];
const REQUIREMENT_KEYS: &[&str] = &["signature"];
const SIGNATURE_KEYS: &[&str] = &["key", "anyRepository", "identity", "roots"];
/// What a key of a signature has to be.
const KEY_FILE: &str = "the absolute path of a key file";
const MAX_KEYS: &[&str] = &["time", "memory"];

impl PolicyFile {
    /// Parses a file. `path` is its name in messages.
    pub fn parse(path: &str, contents: &[u8]) -> Result<PolicyFile, InvalidPolicy> {
        let invalid = |line, problem| InvalidPolicy {
            file: path.to_owned(),
            line,
            problem,
        };
        if std::str::from_utf8(contents).is_err() {
            return Err(invalid(1, PolicyProblem::NotUtf8));
        }
        // A byte order mark is not part of the text.
        let document = parse_single(contents).map_err(|error| {
            let problem = PolicyProblem::Yaml(error.message().to_owned());
            invalid(error.position().line, problem)
        })?;
        let document = document.ok_or_else(|| invalid(1, PolicyProblem::Empty))?;
        parse_file(path, document.root()).map_err(|(line, problem)| invalid(line, problem))
    }
}

/// A problem and its line.
type Problem = (usize, PolicyProblem);

fn line(node: NodeRef<'_>) -> usize {
    node.position().map_or(1, |position| position.line)
}

fn parse_file(path: &str, root: NodeRef<'_>) -> Result<PolicyFile, Problem> {
    let mut version = None;
    let mut default = None;
    let mut rules = Vec::new();
    let mut exec = None;
    let mut starlark = None;
    for (key, value) in fields(root, "the policy", FILE_KEYS)? {
        match key {
            "version" => {
                let given = text(value, "version", "1")?;
                if given != VERSION {
                    return Err((line(value), PolicyProblem::Version(given.to_owned())));
                }
                version = Some(());
            }
            "default" => default = Some(parse_default(value)?),
            "rules" => rules = parse_rules(value)?,
            "exec" => exec = Some(switch(value, "exec")?),
            _ => starlark = Some(switch(value, "starlark")?),
        }
    }
    let missing = |key| {
        (
            line(root),
            PolicyProblem::Missing {
                key,
                place: "the policy",
            },
        )
    };
    version.ok_or_else(|| missing("version"))?;
    Ok(PolicyFile {
        path: Arc::from(path),
        default: default.ok_or_else(|| missing("default"))?,
        rules,
        exec,
        starlark,
    })
}

fn parse_default(value: NodeRef<'_>) -> Result<Setting<PolicyDefault>, Problem> {
    let values = [
        ("allow", PolicyDefault::Allow),
        ("warn", PolicyDefault::Warn),
        ("deny", PolicyDefault::Deny),
    ];
    let default = one_of(value, "default", &values, "allow, warn or deny")?;
    Ok(Setting {
        value: default,
        line: line(value),
    })
}

fn switch(value: NodeRef<'_>, field: &'static str) -> Result<Setting<Switch>, Problem> {
    let values = [("allow", Switch::Allow), ("deny", Switch::Deny)];
    let switch = one_of(value, field, &values, "allow or deny")?;
    Ok(Setting {
        value: switch,
        line: line(value),
    })
}

fn parse_rules(value: NodeRef<'_>) -> Result<Vec<Rule>, Problem> {
    let mut rules: Vec<Rule> = Vec::new();
    for item in items(value, "rules", "a list of rules")? {
        let rule = parse_rule(item)?;
        if let Some(first) = rules.iter().find(|other| other.scope == rule.scope) {
            let problem = PolicyProblem::DuplicateRule {
                rule: rule.scope.text().to_owned(),
                first: first.line,
            };
            return Err((rule.line, problem));
        }
        rules.push(rule);
    }
    Ok(rules)
}

fn parse_rule(item: NodeRef<'_>) -> Result<Rule, Problem> {
    let mut scope = None;
    let mut rule = Rule {
        scope: RuleScope::All,
        line: line(item),
        allow: None,
        requires_digest: false,
        signatures: Vec::new(),
        network: Switch::Allow,
        max: PolicyMax::default(),
        cache: None,
    };
    for (key, value) in fields(item, "a rule", RULE_KEYS)? {
        match key {
            "match" => {
                let given = text(value, "match", "a repository, a path that ends in /, or *")?;
                let parsed = RuleScope::parse(given).map_err(|reason| {
                    let rule = given.to_owned();
                    (line(value), PolicyProblem::Match { rule, reason })
                })?;
                scope = Some(parsed);
            }
            "allow" => rule.allow = Some(parse_ways(value)?),
            "require" => parse_requirements(value, &mut rule)?,
            "network" => rule.network = switch(value, "network")?.value,
            "cache" => rule.cache = Some(switch(value, "cache")?.value),
            _ => rule.max = parse_max(value)?,
        }
    }
    let missing = PolicyProblem::Missing {
        key: "match",
        place: "a rule",
    };
    rule.scope = scope.ok_or((rule.line, missing))?;
    Ok(rule)
}

fn parse_ways(value: NodeRef<'_>) -> Result<Vec<RunWay>, Problem> {
    let names = "a list of native, wasm, exec, remote, image, engine and pod";
    let mut ways = Vec::new();
    for item in items(value, "allow", names)? {
        let way = item.as_text().and_then(RunWay::parse);
        let way = way.ok_or_else(|| wrong(item, "allow", names))?;
        if ways.contains(&way) {
            let key = way.name().to_owned();
            return Err((
                line(item),
                PolicyProblem::Duplicate {
                    key,
                    first: line(value),
                },
            ));
        }
        ways.push(way);
    }
    ways.sort();
    Ok(ways)
}

fn parse_requirements(value: NodeRef<'_>, rule: &mut Rule) -> Result<(), Problem> {
    const WANTED: &str = "a list of `digest` and `signature: {key: FILE}`";
    for item in items(value, "require", WANTED)? {
        if item.as_text() == Some("digest") {
            rule.requires_digest = true;
            continue;
        }
        if !item.is_mapping() {
            return Err(wrong(item, "require", WANTED));
        }
        let fields = fields(item, "require", REQUIREMENT_KEYS)?;
        let Some((_, signature)) = fields.first() else {
            let (key, place) = ("signature", "require");
            return Err((line(item), PolicyProblem::Missing { key, place }));
        };
        rule.signatures.push(parse_signature(*signature)?);
    }
    Ok(())
}

/// A required signature. The keys are read here: without them the file cannot be in force.
fn parse_signature(value: NodeRef<'_>) -> Result<Setting<Arc<SignatureRequirement>>, Problem> {
    let mut key = None;
    let mut repository = RepositoryCheck::Same;
    for (name, value) in fields(value, "signature", SIGNATURE_KEYS)? {
        match name {
            "key" => key = Some(value),
            "anyRepository" => {
                let checks = [
                    ("true", RepositoryCheck::Any),
                    ("false", RepositoryCheck::Same),
                ];
                repository = one_of(value, "anyRepository", &checks, "true or false")?;
            }
            _ => return Err((line(value), PolicyProblem::Keyless)),
        }
    }
    let Some(key) = key else {
        let (key, place) = ("key", "signature");
        return Err((line(value), PolicyProblem::Missing { key, place }));
    };
    let keys: Vec<PublicKey> = match key.is_sequence() {
        true => {
            let items = items(key, "key", KEY_FILE)?;
            items.into_iter().map(parse_key).collect::<Result<_, _>>()?
        }
        false => vec![parse_key(key)?],
    };
    if keys.is_empty() {
        let wanted = "the absolute path of a key file, or a list of them";
        return Err(wrong(key, "key", wanted));
    }
    Ok(Setting {
        value: Arc::new(SignatureRequirement { keys, repository }),
        line: line(key),
    })
}

fn parse_key(key: NodeRef<'_>) -> Result<PublicKey, Problem> {
    let file = Path::new(text(key, "key", KEY_FILE)?);
    if !file.is_absolute() {
        return Err(wrong(key, "key", KEY_FILE));
    }
    read_public_key(file).map_err(|error| {
        let problem = PolicyProblem::KeyFile(kiln_go::error_chain(&error));
        (line(key), problem)
    })
}

fn parse_max(value: NodeRef<'_>) -> Result<PolicyMax, Problem> {
    let mut max = PolicyMax::default();
    for (key, value) in fields(value, "max", MAX_KEYS)? {
        match key {
            "time" => max.time = Some(time(value)?),
            _ => max.memory = Some(bytes(value)?),
        }
    }
    Ok(max)
}

/// The fields of a mapping, each of them once and known.
fn fields<'a>(
    node: NodeRef<'a>,
    place: &'static str,
    known: &'static [&'static str],
) -> Result<Vec<(&'static str, NodeRef<'a>)>, Problem> {
    if !node.is_mapping() {
        return Err(wrong(node, place, "a mapping"));
    }
    let mut found: Vec<(&'static str, NodeRef<'a>, usize)> = Vec::new();
    for (key, value) in node.entries() {
        let at = line(key);
        let name = known.iter().find(|name| key.as_text() == Some(**name));
        let Some(name) = name else {
            let key = key.value().to_owned();
            return Err((at, PolicyProblem::UnknownKey { key, place, known }));
        };
        if value.kind() == Kind::Alias || key.kind() == Kind::Alias {
            return Err((at, PolicyProblem::Alias));
        }
        if let Some((_, _, first)) = found.iter().find(|(other, ..)| other == name) {
            let key = (*name).to_owned();
            return Err((at, PolicyProblem::Duplicate { key, first: *first }));
        }
        found.push((name, value, at));
    }
    let found = found.into_iter().map(|(name, value, _)| (name, value));
    Ok(found.collect())
}

fn items<'a>(
    node: NodeRef<'a>,
    field: &'static str,
    wanted: &'static str,
) -> Result<Vec<NodeRef<'a>>, Problem> {
    if !node.is_sequence() {
        return Err(wrong(node, field, wanted));
    }
    let items: Vec<NodeRef<'a>> = node.items().collect();
    match items.iter().find(|item| item.kind() == Kind::Alias) {
        Some(alias) => Err((line(*alias), PolicyProblem::Alias)),
        None => Ok(items),
    }
}

#[cfg(test)]
mod tests;
