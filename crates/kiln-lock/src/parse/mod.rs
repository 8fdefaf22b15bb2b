//! Reads lock files. Everything that is not understood is an error: a lock applies as a whole or not at all.

mod problem;

use kiln_yaml::{Kind, NodeRef, parse_single};

use crate::{FunctionLock, LockKey, LockedFunction};
pub use problem::{InvalidLock, LockProblem};

/// The only version of the format.
const VERSION: &str = "1";

const FILE_KEYS: &[&str] = &["version", "functions", "upstream"];
const ENTRY_KEYS: &[&str] = &["image", "tag", "resolved", "digest", "native", "wasm"];
const DIGEST: &str = "sha256: and 64 hexadecimal digits";

/// A problem and its line.
type ProblemAt = (usize, LockProblem);

impl FunctionLock {
    /// Parses a file. `path` is its name in messages.
    pub fn parse(path: &str, contents: &[u8]) -> Result<FunctionLock, InvalidLock> {
        let invalid = |(line, problem)| InvalidLock {
            file: path.to_owned(),
            line,
            problem,
        };
        let text = std::str::from_utf8(contents);
        let text = text.map_err(|_| invalid((1, LockProblem::NotUtf8)))?;
        if let Some(line) = conflict_line(text) {
            return Err(invalid((line, LockProblem::Conflict)));
        }
        let document = parse_single(contents).map_err(|error| {
            let problem = LockProblem::Yaml(error.message().to_owned());
            invalid((error.position().line, problem))
        })?;
        let document = document.ok_or_else(|| invalid((1, LockProblem::Empty)))?;
        parse_file(document.root()).map_err(invalid)
    }
}

/// The first line that git wrote into a file that it could not merge.
fn conflict_line(text: &str) -> Option<usize> {
    let is_marker = |line: &str| {
        let starts = ["<<<<<<< ", "||||||| ", ">>>>>>> "];
        line == "=======" || starts.iter().any(|start| line.starts_with(start))
    };
    text.lines().position(is_marker).map(|at| at + 1)
}

fn line(node: NodeRef<'_>) -> usize {
    node.position().map_or(1, |position| position.line)
}

fn parse_file(root: NodeRef<'_>) -> Result<FunctionLock, ProblemAt> {
    let mut has_version = false;
    let mut lock = None;
    for (key, value) in fields(root, "the lock file", FILE_KEYS)? {
        match key {
            "version" => {
                let version = text(value, "version", "1")?;
                if version != VERSION {
                    return Err((line(value), LockProblem::Version(version.to_owned())));
                }
                has_version = true;
            }
            "functions" => lock = Some(parse_functions(value)?),
            _ if value.is_sequence() && value.items().next().is_none() => {}
            _ => return Err(wrong(value, "upstream", "[], it is reserved")),
        }
    }
    let missing = |key| {
        let place = "the lock file";
        (line(root), LockProblem::Missing { key, place })
    };
    if !has_version {
        return Err(missing("version"));
    }
    lock.ok_or_else(|| missing("functions"))
}

fn parse_functions(value: NodeRef<'_>) -> Result<FunctionLock, ProblemAt> {
    if !value.is_sequence() {
        return Err(wrong(value, "functions", "a list"));
    }
    let mut lock = FunctionLock::default();
    let mut lines: Vec<(LockKey, usize)> = Vec::new();
    for item in value.items() {
        let (key, function) = parse_entry(item)?;
        let at = line(item);
        if lock.functions.insert(key.clone(), function).is_some() {
            let first = lines.iter().find(|(other, _)| *other == key);
            let first = first.map_or(at, |(_, line)| *line);
            let name = key.to_string();
            return Err((at, LockProblem::DuplicateEntry { name, first }));
        }
        lines.push((key, at));
    }
    Ok(lock)
}

fn parse_entry(item: NodeRef<'_>) -> Result<(LockKey, LockedFunction), ProblemAt> {
    let mut image = None;
    let mut tag = String::new();
    let mut resolved = None;
    let (mut digest, mut native, mut wasm) = (None, None, None);
    let mut digest_line = line(item);
    for (key, value) in fields(item, "an entry", ENTRY_KEYS)? {
        let given = text(value, key, "a text")?.to_owned();
        if given.is_empty() {
            return Err(wrong(value, key, "a text that is not empty"));
        }
        match key {
            "image" => image = Some(given),
            "tag" => tag = given,
            "resolved" => resolved = Some(given),
            "digest" if is_digest(&given) => {
                digest = Some(given);
                digest_line = line(value);
            }
            "wasm" if is_digest(&given) => wasm = Some(given),
            "native" if is_native(&given) => native = Some(given),
            "native" => return Err(wrong(value, key, "NAME@VERSION#BEHAVIOUR")),
            _ => return Err(wrong(value, key, DIGEST)),
        }
    }
    let missing = |key| {
        let place = "an entry";
        (line(item), LockProblem::Missing { key, place })
    };
    let image = image.ok_or_else(|| missing("image"))?;
    let function = LockedFunction {
        resolved: resolved.ok_or_else(|| missing("resolved"))?,
        digest,
        native,
        wasm,
    };
    if function.digest.is_none() && function.native.is_none() {
        return Err((line(item), LockProblem::NothingLocked));
    }
    // The Kptfile names this digest, and another one must not run in place of it.
    if let (Some((_, named)), Some(digest)) = (function.resolved.rsplit_once('@'), &function.digest)
        && named != digest
    {
        let named = named.to_owned();
        return Err((digest_line, LockProblem::OtherDigest { named }));
    }
    Ok((LockKey { image, tag }, function))
}

fn is_digest(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    let hex = text.strip_prefix("sha256:");
    hex.is_some_and(|hex| hex.len() == 64 && hex.bytes().all(is_digit))
}

fn is_native(text: &str) -> bool {
    let parts = text
        .split_once('@')
        .and_then(|(name, rest)| Some((name, rest.rsplit_once('#')?)));
    parts.is_some_and(|(name, (version, behaviour))| {
        !name.is_empty() && !version.is_empty() && behaviour.parse::<u32>().is_ok()
    })
}

/// The fields of a mapping, each of them once and known.
fn fields<'a>(
    node: NodeRef<'a>,
    place: &'static str,
    known: &'static [&'static str],
) -> Result<Vec<(&'static str, NodeRef<'a>)>, ProblemAt> {
    if !node.is_mapping() {
        return Err(wrong(node, place, "a mapping"));
    }
    let mut found: Vec<(&'static str, NodeRef<'a>, usize)> = Vec::new();
    for (key, value) in node.entries() {
        let at = line(key);
        let Some(name) = known.iter().find(|name| key.as_text() == Some(**name)) else {
            let key = key.value().to_owned();
            return Err((at, LockProblem::UnknownKey { key, place, known }));
        };
        if value.kind() == Kind::Alias || key.kind() == Kind::Alias {
            return Err((at, LockProblem::Alias));
        }
        if let Some((_, _, first)) = found.iter().find(|(other, ..)| other == name) {
            let (key, first) = ((*name).to_owned(), *first);
            return Err((at, LockProblem::DuplicateKey { key, first }));
        }
        found.push((name, value, at));
    }
    Ok(found
        .into_iter()
        .map(|(name, value, _)| (name, value))
        .collect())
}

fn text<'a>(
    node: NodeRef<'a>,
    field: &'static str,
    wanted: &'static str,
) -> Result<&'a str, ProblemAt> {
    node.as_text().ok_or_else(|| wrong(node, field, wanted))
}

fn wrong(node: NodeRef<'_>, field: &'static str, wanted: &'static str) -> ProblemAt {
    (line(node), LockProblem::Wrong { field, wanted })
}
