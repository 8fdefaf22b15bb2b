//! Runs the examples of the documentation and compares their output.
//!
//! A fence `sh run` is run by bash, those of a page one after the other in one directory; a fence `text output` right
//! after it is what it prints, on both streams. Those that need more are marked, and skipped with a message where it is not
//! there: `sh run git`, `sh run image` (kiln can run images), `sh run npm`, `sh run python`, `sh run registry` (npm, and something that it can install from) `sh run engine` (a container
//! engine, see `tests/engine/up`), `sh run sandbox` (kiln can run programs in a sandbox) and `sh run module` (gets `set-owner.wasm`).
//! Other fences are for reading. Indented commands are not run; `NOT_RUN` has the reasons.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::engine;
use crate::faults::skip;
use crate::images;
use crate::test_environment::{Outcome, TestEnvironment, copy};
use crate::wasm;

/// What not every machine has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Need {
    Git,
    Npm,
    Python,
    Registry,
    Engine,
    Image,
    Sandbox,
    Module,
}

impl Need {
    /// The word after `sh run`; none if nothing is needed.
    fn parse(word: &str) -> Option<Need> {
        match word {
            "" => None,
            "git" => Some(Need::Git),
            "npm" => Some(Need::Npm),
            "python" => Some(Need::Python),
            "registry" => Some(Need::Registry),
            "engine" => Some(Need::Engine),
            "image" => Some(Need::Image),
            "sandbox" => Some(Need::Sandbox),
            "module" => Some(Need::Module),
            word => panic!("no such need: {word}"),
        }
    }

    /// Prepares for examples that need this; returns why it cannot.
    fn meet(self, example_run: &mut ExampleRun) -> Result<(), String> {
        let probe = |script: &str, reason: &str| match example_run.shell(script).code {
            Some(0) => Ok(()),
            _ => Err(reason.to_owned()),
        };
        match self {
            Need::Git => probe("git --version", "git is not there"),
            Need::Python => probe("python3 --version", "python3 is not there"),
            Need::Npm => probe("npm --version", "npm is not there"),
            Need::Registry => {
                let script = "timeout 60 npm view kpt-functions version && \
                              node --version | grep -qE '^v(2[0-9]|[3-9][0-9])'";
                probe(
                    script,
                    "npm has nothing to install from, or Node is too old",
                )
            }
            Need::Engine => example_run.prepare_engine(),
            Need::Image => example_run.prepare_image(),
            Need::Sandbox => probe(
                "kiln doctor | grep -A1 '^sandbox:' | grep -q 'ok *files'",
                "this system has no sandbox",
            ),
            Need::Module => {
                let module = wat::parse_str(wasm::ECHO).expect("a module");
                let path = example_run.test_env.work().join("set-owner.wasm");
                fs::write(path, module).expect("a file");
                Ok(())
            }
        }
    }
}

/// Where the examples of a page are run.
struct ExampleRun {
    test_env: TestEnvironment,
    variables: Vec<(String, String)>,
}

impl ExampleRun {
    fn new() -> ExampleRun {
        let test_env = TestEnvironment::new();
        copy(&repository().join("examples"), &test_env.work());
        // Variables and a file in the home, which examples do not see, configure the registry of npm.
        let mut variables: Vec<(String, String)> = std::env::vars()
            .filter(|(name, _)| {
                let name = name.to_lowercase();
                name.starts_with("npm_config_")
                    || name.ends_with("_proxy")
                    || name == "node_extra_ca_certs"
            })
            .collect();
        let home = std::env::var_os("HOME").map(PathBuf::from);
        let settings = home.map(|home| home.join(".npmrc"));
        if let Some(settings) = settings.filter(|settings| settings.exists()) {
            let settings = settings.display().to_string();
            variables.push(("NPM_CONFIG_USERCONFIG".to_owned(), settings));
        }
        ExampleRun {
            test_env,
            variables,
        }
    }

    fn shell(&self, script: &str) -> Outcome {
        let variables = self.variables.iter();
        let variables: Vec<(&str, &str)> = variables
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.test_env
            .shell(&self.test_env.work(), script, &variables)
    }

    /// Gives the store the image of a function that changes nothing more.
    fn prepare_image(&mut self) -> Result<(), String> {
        let archive = self.test_env.work().join("image.tar");
        images::write_unchanging_image(&archive).ok_or("no static busybox")?;
        let namespaces = ("KILN_IMAGE_RUNTIME".to_owned(), "namespaces".to_owned());
        self.variables.push(namespaces);
        let script = "kiln image import image.tar --name gcr.io/kpt-fn/set-labels:v0.1.5 && \
                      kiln doctor -o json | grep -A5 namespaces | grep -q ok";
        match self.shell(script) {
            Outcome { code: Some(0), .. } => Ok(()),
            _ => Err("this system does not allow namespaces".to_owned()),
        }
    }

    /// Lets `docker` stand for the engine, and gives it the image that examples start from.
    fn prepare_engine(&mut self) -> Result<(), String> {
        let engine = engine::name().ok_or(engine::MISSING)?;
        for name in engine::VARIABLES {
            if let Ok(value) = std::env::var(name) {
                self.variables.push((name.to_owned(), value));
            }
        }
        let maker = repository().join("tests/engine/image");
        let script = format!(
            "ln -sf \"$(command -v {engine})\" ../bin/docker && {} localhost/alpine:3 <<<true",
            maker.display()
        );
        self.variables.push(("KRM_FN_RUNTIME".to_owned(), engine));
        match self.shell(&script) {
            Outcome { code: Some(0), .. } => Ok(()),
            ran => Err(ran.stderr),
        }
    }
}

/// An example of a page.
struct Example {
    line: usize,
    need: Option<Need>,
    script: String,
    output: Option<String>,
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(info) = line.strip_prefix("```") else {
            continue;
        };
        let body: String = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| *line != "```")
            .flat_map(|line| [line, "\n"])
            .collect();
        match (info, info.strip_prefix("sh run")) {
            (_, Some(need)) => examples.push(Example {
                line: number + 1,
                need: Need::parse(need.trim_start()),
                script: body,
                output: None,
            }),
            ("text output", None) => {
                let example = examples.last_mut().expect("an example before its output");
                assert!(example.output.replace(body).is_none(), "line {number}");
            }
            _ => {}
        }
    }
    examples
}

/// The time that functions took is never the same, programs differ from machine to machine, and pages have no spaces at
/// the ends of lines.
fn comparable(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(" in ") {
        _ if line.trim_start().starts_with("identity: exec:") => "identity\n".to_owned(),
        Some((before, _)) if line.starts_with("[PASS]") || line.starts_with("[FAIL]") => {
            format!("{before} in TIME\n")
        }
        _ => format!("{}\n", line.trim_end()),
    };
    text.lines().map(line).collect()
}

#[track_caller]
fn check_page(name: &str, at_least: usize) {
    let page = fs::read_to_string(repository().join(name)).expect("a page");
    let mut example_run = ExampleRun::new();
    let examples = examples(&page);
    assert!(examples.len() >= at_least, "{name} has lost its examples");
    let mut met: BTreeMap<Need, Result<(), String>> = BTreeMap::new();
    let mut outputs: BTreeMap<usize, String> = BTreeMap::new();
    let is_update = std::env::var_os("KILN_UPDATE").is_some();
    for example in examples {
        let place = format!("{name}:{}", example.line);
        if let Some(need) = example.need {
            let met = met
                .entry(need)
                .or_insert_with(|| need.meet(&mut example_run));
            if let Err(reason) = met {
                skip(&place, reason);
                continue;
            }
        }
        let script = format!("set -euo pipefail; exec 2>&1\n{}", example.script);
        let mut ran = example_run.shell(&script);
        // The directory is another one each time.
        let work = example_run.test_env.work().display().to_string();
        ran.stdout = ran.stdout.replace(&work, "/work");
        assert_eq!(ran.code, Some(0), "{place}: {}", ran.stdout);
        match example.output {
            Some(_) if is_update => {
                outputs.insert(example.line, ran.stdout);
            }
            Some(output) => {
                let (found, wanted) = (comparable(&ran.stdout), comparable(&output));
                assert_eq!(found, wanted, "{place}; KILN_UPDATE=1 accepts the output");
            }
            None => {}
        }
    }
    if is_update {
        fs::write(repository().join(name), updated(&page, &outputs)).expect("writes");
    }
}

/// The page with the outputs of its examples, by the lines of those. Lines that differ only by times stay.
fn updated(page: &str, outputs: &BTreeMap<usize, String>) -> String {
    let mut text = String::new();
    let mut lines = page.lines().enumerate();
    let mut last = None;
    while let Some((number, line)) = lines.next() {
        text.push_str(line);
        text.push('\n');
        if line.starts_with("```sh run") {
            last = outputs.get(&(number + 1));
        }
        let Some(output) = last.filter(|_| line == "```text output") else {
            continue;
        };
        let kept: Vec<&str> = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| *line != "```")
            .collect();
        for (index, found) in output.lines().enumerate() {
            let kept = kept
                .get(index)
                .filter(|kept| comparable(kept) == comparable(found));
            text.push_str(kept.unwrap_or(&found.trim_end()));
            text.push('\n');
        }
        text.push_str("```\n");
        last = None;
    }
    text
}

#[test]
fn the_readme() {
    check_page("README.md", 2);
}

#[test]
fn the_page_on_the_first_package() {
    check_page("docs/first-package.md", 8);
}

#[test]
fn the_page_for_users_of_kpt() {
    check_page("docs/from-kpt.md", 3);
}

#[test]
fn the_page_on_functions() {
    check_page("docs/functions.md", 18);
}

#[test]
fn the_page_on_render() {
    check_page("docs/fn-render.md", 3);
}

#[test]
fn the_page_on_packages() {
    check_page("docs/packages.md", 11);
}

#[test]
fn the_page_on_pkg() {
    check_page("docs/pkg.md", 1);
}

#[test]
fn the_page_on_eval() {
    check_page("docs/fn-eval.md", 3);
}

#[test]
fn the_page_on_other_tools() {
    check_page("docs/other-tools.md", 3);
}

#[test]
fn the_page_on_lock_files() {
    check_page("docs/lock.md", 3);
}

#[test]
fn the_page_on_ci() {
    check_page("docs/ci.md", 1);
}

#[test]
fn the_page_on_gitops() {
    check_page("docs/gitops.md", 3);
}

#[test]
fn the_page_on_kept_answers() {
    check_page("docs/cache.md", 1);
}

#[test]
fn the_page_on_reports() {
    check_page("docs/reports.md", 1);
}

#[test]
fn the_page_on_safety() {
    check_page("docs/safety.md", 1);
}

#[test]
fn the_page_on_built_in_functions() {
    check_page("docs/native-functions.md", 2);
}

#[test]
fn the_page_on_modules() {
    check_page("docs/wasm.md", 1);
}

#[test]
fn the_page_on_source_and_sink() {
    check_page("docs/fn-source-sink.md", 3);
}

#[test]
fn the_example_of_the_readme_renders_with_nothing_but_kiln() {
    let readme = fs::read_to_string(repository().join("README.md")).expect("a page");
    let command = "fn render examples/catalog -o unwrap";
    assert!(readme.contains(command));
    let test_env = TestEnvironment::new();
    copy(&repository().join("examples"), &test_env.work());
    let words: Vec<&str> = command.split(' ').collect();
    let ran = test_env.kiln(&words, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("  replicas: 2 # enough for now\n"));
    assert!(ran.stdout.contains("  namespace: prod\n"));
}

/// `fn doc` with a container engine that shows how it was called.
fn doc(flags: &str, variables: &[(&str, &str)]) -> Outcome {
    let test_env = TestEnvironment::new();
    let engine = "#!/bin/sh\n\
        if [ \"$1\" = version ]; then echo 24.0.0; exit; fi\n\
        echo \"called: $*\"\n\
        cat\n\
        echo 'no such flag' >&2\n\
        exit ${ENGINE_EXIT:-0}\n";
    test_env.write("engine/docker", engine);
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(test_env.work().join("engine/docker"), mode).expect("a mode");
    let script = format!("PATH=$PWD/engine:$PATH; kiln fn doc {flags}");
    test_env.shell(&test_env.work(), &script, variables)
}

#[track_caller]
fn check_doc_asks(flags: &str, variables: &[(&str, &str)], image: &str) {
    let ran = doc(flags, variables);
    let wanted = format!(
        "called: run --rm -i {image} --help\n\
         apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n\n"
    );
    assert_eq!((ran.code, ran.stdout), (Some(0), wanted), "{flags}");
    assert_eq!(ran.stderr, "", "{flags}");
}

#[test]
fn doc_asks_the_image() {
    let catalog = "ghcr.io/kptdev/krm-functions-catalog";
    // kiln itself has the documentation of what is built in.
    let as_kpt = [("KILN_COMPAT", "kpt")];
    let set_labels = format!("{catalog}/set-labels");
    check_doc_asks("-i set-labels", &as_kpt, &set_labels);
    check_doc_asks("--image example.com/x:v1", &[], "example.com/x:v1");
    check_doc_asks("-i x --image-prefix a.io/b/", &[], "a.io/b/x");
    check_doc_asks("-i x --image-prefix=", &[], "x");
    let variable = [("KPT_IMAGE_PREFIX", "c.io")];
    check_doc_asks("-i x", &variable, "c.io/x");
    check_doc_asks("-i x --image-prefix a.io", &variable, "a.io/x");
}

#[track_caller]
fn check_doc_fails(flags: &str, variables: &[(&str, &str)], code: i32, stderr: &str) {
    let ran = doc(flags, variables);
    let found = (ran.code, ran.stdout.as_str(), ran.stderr.as_str());
    assert_eq!(found, (Some(code), "", stderr), "{flags}");
}

#[test]
fn doc_reports_errors() {
    check_doc_fails("", &[], 2, "error: image must be specified\n");
    check_doc_fails(
        "x -i x",
        &[],
        2,
        "error: accepts at most 0 arg(s), received 1\n",
    );
    check_doc_fails(
        "-i x --image-prefix http://x",
        &[],
        1,
        "error: invalid image prefix \"http://x\": must not include a scheme (e.g. https://)\n",
    );
    check_doc_fails(
        "-i x",
        &[("ENGINE_EXIT", "3")],
        1,
        "no such flag\nerror: please ensure the container has an entrypoint and it supports --help flag: \
         exit status 3\n",
    );
    check_doc_fails(
        "-i x",
        &[("KRM_FN_RUNTIME", "zzz")],
        1,
        "error: unsupported runtime: \"zzz\" the runtime must be one of [docker podman nerdctl]\n\
         hint: no container engine is available. Install docker, or set KRM_FN_RUNTIME to podman or nerdctl. \
         These functions need it:\n  ghcr.io/kptdev/krm-functions-catalog/x\n",
    );
}

#[test]
fn the_page_on_logging() {
    check_page("docs/logging.md", 1);
}

/// The pages for users.
fn pages() -> Vec<String> {
    let listed = fs::read_dir(repository().join("docs")).expect("a directory");
    let pages = listed.map(|entry| entry.expect("an entry").file_name());
    let mut pages: Vec<String> = pages
        .map(|name| format!("docs/{}", name.to_string_lossy()))
        .filter(|name| name.ends_with(".md"))
        .collect();
    pages.push("README.md".to_owned());
    pages
}

/// A page with examples that no test runs would rot.
#[test]
fn every_page_with_examples_is_run() {
    let tests = include_str!("docs.rs");
    for page in pages() {
        let text = fs::read_to_string(repository().join(&page)).expect("a page");
        let is_run = tests.contains(&format!("check_page(\"{page}\""));
        assert_eq!(!examples(&text).is_empty(), is_run, "{page}");
    }
}

/// The pages with commands that no test runs, and why.
const NOT_RUN: [(&str, &str); 19] = [
    ("README.md", "builds kiln"),
    ("docs/catalog.md", "the text of `kiln function doc`"),
    ("docs/ci.md", "needs the history of a repository"),
    ("docs/fn-eval.md", "a synopsis"),
    ("docs/fn-render.md", "a synopsis"),
    ("docs/fn-source-sink.md", "a synopsis"),
    ("docs/function-runner.md", "needs a server"),
    ("docs/gitops.md", "needs a cluster"),
    ("docs/images.md", "needs a registry"),
    ("docs/install.md", "needs releases"),
    ("docs/kubernetes.md", "needs a cluster"),
    ("docs/lock.md", "a synopsis"),
    ("docs/other-tools.md", "needs kustomize, kpt and Helm"),
    ("docs/pkg.md", "needs a repository in the network"),
    ("docs/runner.md", "needs a server"),
    ("docs/signatures.md", "needs a registry with signed images"),
    ("docs/status-page.md", "needs a server"),
    ("docs/wasm.md", "needs a registry"),
    ("docs/wrapper-server.md", "a synopsis"),
];

/// A command that can be run is to be an example.
#[test]
fn commands_that_are_not_run_have_a_reason() {
    let programs = [
        "kiln",
        "kpt",
        "kustomize",
        "kubectl",
        "docker",
        "helm",
        "curl",
        "cosign",
        "cargo",
        "git",
        "brew",
        "function-runner",
        "wrapper-server",
    ];
    for page in pages() {
        let text = fs::read_to_string(repository().join(&page)).expect("a page");
        let mut is_fenced = false;
        let mut commands = text.lines().filter(|line| {
            is_fenced ^= line.starts_with("```");
            let words = line.strip_prefix("    ").filter(|_| !is_fenced);
            let mut words = words.into_iter().flat_map(|words| words.split(' '));
            let first = words.find(|word| !word.contains('='));
            first.is_some_and(|first| programs.contains(&first))
        });
        let is_listed = NOT_RUN.iter().any(|(listed, _)| *listed == page);
        if let Some(command) = commands.next()
            && !is_listed
            && page != "docs/cli.md"
        {
            panic!("{page} has a command that no test runs: {command}");
        }
    }
}
