//! `kiln rpkg` and `kiln repo` as programs: each file in `rpkg/` is a story, with commands and their output.
//!
//! A story starts in an empty directory. `$ ` starts a command and `> ` continues it. Its output follows: `| ` before each line of
//! standard output, `! ` before each line of standard error, and `=> CODE` unless the exit code is 0. Other lines are for
//! readers. Commits, times and the directory are replaced. Output that Porch's own recorded transcripts have equals theirs.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::example::check_golden;
use crate::faults::skip;
use crate::test_environment::TestEnvironment;

macro_rules! stories {
    ($($name:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            check_story("rpkg", stringify!($name));
        })*

        const STORIES: &[&str] = &[$(stringify!($name)),*];
    };
}

stories![
    clone,
    copy,
    deployment,
    files,
    get,
    init,
    inspect,
    lifecycle,
    nested,
    porch_context,
    push,
    render_failure,
    repositories,
    strategies,
    unready,
    update,
    upgrade,
];

#[test]
fn no_story_is_forgotten() {
    let entries = fs::read_dir(directory("rpkg")).expect("a directory");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().trim_end_matches(".txt").to_owned())
        .collect();
    names.sort();
    let mut wanted = STORIES.to_vec();
    wanted.sort_unstable();
    assert_eq!(names, wanted);
}

fn directory(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/it")
        .join(of)
}

/// Runs the story `DIRECTORY/NAME.txt`.
#[track_caller]
pub(crate) fn check_story(of: &str, name: &str) {
    let file = format!("{name}.txt");
    let story = fs::read_to_string(directory(of).join(&file)).expect("a story");
    let test_env = TestEnvironment::new();
    let setup = "git config --global user.name Tester && \
                 git config --global user.email tester@example.com && \
                 git config --global init.defaultBranch main";
    if test_env.shell(&test_env.work(), setup, &[]).code != Some(0) {
        return skip(name, "git is not there");
    }
    check_golden(&format!("{of}/{file}"), &replay(&test_env, &story));
}

/// The story with the current output of its commands.
fn replay(test_env: &TestEnvironment, story: &str) -> String {
    let mut out = String::new();
    let mut command = String::new();
    for line in story.lines() {
        let more = line.strip_prefix("> ").or((line == ">").then_some(""));
        if more.is_none() && !command.is_empty() {
            append_output(&mut out, test_env, &std::mem::take(&mut command));
        }
        let is_output = ["|", "!", "=> "].iter().any(|mark| line.starts_with(mark));
        if is_output {
            continue;
        }
        if let Some(text) = line.strip_prefix("$ ").or(more) {
            command.push_str(text);
            command.push('\n');
        }
        let _ = writeln!(out, "{line}");
    }
    if !command.is_empty() {
        append_output(&mut out, test_env, &command);
    }
    out
}

fn append_output(out: &mut String, test_env: &TestEnvironment, command: &str) {
    let ran = test_env.shell(&test_env.work(), command, &[]);
    for (mark, text) in [("|", &ran.stdout), ("!", &ran.stderr)] {
        for line in text.lines() {
            let line = steady(line, test_env);
            let line = format!("{mark} {line}");
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    match ran.code {
        Some(0) => {}
        code => {
            let _ = writeln!(out, "=> {}", code.unwrap_or(-1));
        }
    }
}

/// Replaces what differs from run to run.
fn steady(line: &str, test_env: &TestEnvironment) -> String {
    let line = line.replace(&test_env.work().display().to_string(), "/work");
    let line = match line.rsplit_once(" in ") {
        Some((before, _)) if line.starts_with("[PASS]") || line.starts_with("[FAIL]") => {
            before.to_owned()
        }
        _ => line,
    };
    let mut steady = String::new();
    let mut word = String::new();
    for letter in line.chars().chain(['\n']) {
        if letter.is_ascii_alphanumeric() || matches!(letter, '-' | ':') {
            word.push(letter);
            continue;
        }
        steady.push_str(&steady_word(&std::mem::take(&mut word)));
        if letter != '\n' {
            steady.push(letter);
        }
    }
    steady
}

fn steady_word(word: &str) -> String {
    let is_commit = word.len() == 40 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let is_time = word.len() == 20 && word.ends_with('Z') && word.get(10..11) == Some("T");
    match (is_commit, is_time) {
        (true, _) => "<commit>".to_owned(),
        (_, true) => "<time>".to_owned(),
        _ => word.to_owned(),
    }
}
