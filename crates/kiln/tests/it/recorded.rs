//! Recorded cases that need nothing but source and sink: a fresh copy under git, the recorded command lines, and
//! what they are to print and change. Which cases these are is read from the cases, so that new ones count.

use std::fs;
use std::path::Path;

use kiln_yaml::{NodeRef, parse, parse_all};

use crate::shared;
use crate::world::{Outcome, World, copy, files};

/// Expectations that the original does not meet either.
const STALE: [&str; 1] = ["kpt/fn-source/subpkgs-with-krmignore"];

struct Case {
    name: String,
    script: String,
}

struct Expected {
    code: i32,
    stdout: Option<String>,
    stderr: Option<String>,
    diff: String,
}

/// The cases of a `commands.yaml` that call only `kpt fn source` and `kpt fn sink`.
fn cases(commands: &Path) -> Vec<Case> {
    let text = fs::read_to_string(commands).expect("commands.yaml");
    let document = parse(&text).expect("YAML").expect("a document");
    let mut cases = Vec::new();
    for (name, case) in document.root().entries() {
        let only_run = case.entries().all(|(key, _)| key.value() == "run");
        let Some(run) = case.get("run").filter(|_| only_run) else {
            continue;
        };
        let lines: Vec<&str> = run.items().map(NodeRef::value).collect();
        let script = lines.join("\n");
        let mut calls = script.split("kpt ").skip(1).peekable();
        let is_ours = calls.peek().is_some()
            && calls.all(|call| call.starts_with("fn source") || call.starts_with("fn sink"));
        if is_ours {
            cases.push(Case {
                name: name.value().to_owned(),
                script,
            });
        }
    }
    cases
}

impl Expected {
    fn read(case: &Path) -> Expected {
        let dir = case.join(".expected");
        let config = fs::read_to_string(dir.join("config.yaml")).unwrap_or_default();
        let config = parse(&config).expect("YAML");
        let text = |key: &str| {
            let root = config.as_ref()?.root();
            Some(root.get(key)?.value().to_owned())
        };
        Expected {
            code: text("exitCode").map_or(0, |code| code.parse().expect("a number")),
            stdout: text("stdOut"),
            stderr: text("stdErr"),
            diff: fs::read_to_string(dir.join("diff.patch")).unwrap_or_default(),
        }
    }
}

/// A case that has been run on a copy of its own.
struct Ran {
    world: World,
    outcome: Outcome,
}

const GIT: &str =
    "git -c user.name=t -c user.email=t@example.com -c core.abbrev=7 -c commit.gpgsign=false";

impl Ran {
    fn new(dir: &Path, script: &str, variables: &[(&str, &str)]) -> Ran {
        let world = World::new();
        let name = dir.file_name().expect("a name");
        let place = world.work().join(name);
        copy(dir, &place);
        let begun = world.shell(
            &place,
            &format!("git init -q . && git add -Af && {GIT} commit -qm begin"),
            &[],
        );
        assert_eq!(begun.code, Some(0), "{begun:?}");
        let mut outcome = world.shell(&place, script, variables);
        let prefix = format!(
            "{}/",
            world.work().canonicalize().expect("a path").display()
        );
        outcome.stderr = outcome.stderr.replace(&prefix, "");
        Ran { world, outcome }
    }

    fn place(&self, dir: &Path) -> std::path::PathBuf {
        self.world.work().join(dir.file_name().expect("a name"))
    }
}

/// What a case that must match to the byte has wrong.
fn byte_problems(dir: &Path, script: &str) -> Vec<String> {
    let expected = Expected::read(dir);
    let ran = Ran::new(dir, script, &[]);
    let mut problems = stream_problems(&expected, &ran.outcome);
    let wanted = expected.stdout.unwrap_or_default();
    if ran.outcome.stdout.trim() != wanted.trim() {
        problems.push(format!("stdout\n{}\nwanted\n{wanted}", ran.outcome.stdout));
    }
    let diff = format!("git add -Af && {GIT} diff --cached HEAD");
    let diff = ran.world.shell(&ran.place(dir), &diff, &[]).stdout;
    if diff.trim() != expected.diff.trim() {
        problems.push(format!("diff\n{diff}\nwanted\n{}", expected.diff));
    }
    problems
}

fn stream_problems(expected: &Expected, outcome: &Outcome) -> Vec<String> {
    let mut problems = Vec::new();
    if outcome.code != Some(expected.code) {
        problems.push(format!("exit {:?}, wanted {}", outcome.code, expected.code));
    }
    let wanted = expected.stderr.as_deref().unwrap_or_default();
    if outcome.stderr.trim() != wanted.trim() {
        problems.push(format!("stderr {:?}, wanted {wanted:?}", outcome.stderr));
    }
    problems
}

/// What a case that must match by value has wrong.
fn value_problems(dir: &Path, script: &str) -> Vec<String> {
    let expected = Expected::read(dir);
    let ran = Ran::new(dir, script, &[("KILN_COMPAT", "kpt-v0.39")]);
    let mut problems = stream_problems(&expected, &ran.outcome);
    let wanted = expected.stdout.clone().unwrap_or_default();
    if values(&ran.outcome.stdout) != values(&wanted) {
        problems.push(format!("stdout\n{}\nwanted\n{wanted}", ran.outcome.stdout));
    }
    // The input with the recorded change applied to it.
    let world = World::new();
    let place = world.work().join("wanted");
    copy(dir, &place);
    if !expected.diff.is_empty() {
        let applied = world.shell(&place, "git apply .expected/diff.patch", &[]);
        assert_eq!(applied.code, Some(0), "{applied:?}");
    }
    let (found, wanted) = (files(&ran.place(dir)), files(&place));
    if found.keys().ne(wanted.keys()) {
        problems.push(format!(
            "files {:?}, wanted {:?}",
            found.keys(),
            wanted.keys()
        ));
    }
    for (path, content) in &wanted {
        let found = found.get(path).map_or("", String::as_str);
        if found != content && values(found) != values(content) {
            problems.push(format!("{path}\n{found}\nwanted\n{content}"));
        }
    }
    problems
}

/// The documents of a text, with nothing left of how they were written.
fn values(text: &str) -> Vec<String> {
    let documents = parse_all(text.as_bytes()).expect("YAML");
    documents
        .iter()
        .map(|document| value(document.root()))
        .collect()
}

/// A value spelt in one way only. The cases are small, so this may recurse.
fn value(node: NodeRef<'_>) -> String {
    if node.is_mapping() {
        let mut pairs: Vec<String> = node
            .entries()
            .map(|(key, item)| format!("{}: {}", value(key), value(item)))
            .collect();
        pairs.sort();
        format!("{{{}}}", pairs.join(", "))
    } else if node.is_sequence() {
        let items: Vec<String> = node.items().map(value).collect();
        format!("[{}]", items.join(", "))
    } else {
        format!("{} {:?}", node.tag(), node.value())
    }
}

/// Runs the cases of one tree; `least` guards against a filter that finds nothing.
fn check(test: &str, tree: &str, least: usize, problems: fn(&Path, &str) -> Vec<String>) {
    let Some(shared) = shared::directory(test) else {
        return;
    };
    let tree = shared.join(tree);
    let cases = cases(&tree.join("commands.yaml"));
    assert!(cases.len() >= least, "only {} cases found", cases.len());
    let mut failures = Vec::new();
    for Case { name, script } in &cases {
        let found = problems(&tree.join(name), script);
        match (STALE.contains(&name.as_str()), found.is_empty()) {
            (false, false) => failures.push(format!("{name}: {}", found.join("\n"))),
            (true, true) => failures.push(format!("{name} is listed as stale and passes")),
            _ => {}
        }
    }
    assert!(
        failures.is_empty(),
        "{} of {} cases failed\n{}",
        failures.len(),
        cases.len(),
        failures.join("\n\n")
    );
}

#[test]
fn kpt_cases_match_to_the_byte() {
    check("kpt_cases_match_to_the_byte", "", 1, byte_problems);
}

#[test]
fn recorded_cases_match_to_the_byte() {
    check(
        "recorded_cases_match_to_the_byte",
        "recorded/render",
        14,
        byte_problems,
    );
}

#[test]
fn legacy_cases_match_by_value() {
    check(
        "legacy_cases_match_by_value",
        "recorded/legacy-run",
        6,
        value_problems,
    );
}
