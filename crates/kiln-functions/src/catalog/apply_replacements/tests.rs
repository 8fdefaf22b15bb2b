//! Both releases of kustomize on the same resources.

use kiln_runtime::RunContext;

use super::INFO;
use crate::function::{Context, NoFiles};
use crate::wire::{self, ProgramOutput};

const ITEMS: &str = "\
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: from
  data:
    port: '8080' # public
    host: web.example.com
- apiVersion: v1
  kind: ConfigMap
  metadata:
    name: to
  data:
    number: 1 # ours
    url: http://old:80/
    list: [a, b]
";

fn run(version: &str, field: &str, fields: &str, options: &str) -> ProgramOutput {
    let input = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{ITEMS}functionConfig:\n  \
         apiVersion: fn.kpt.dev/v1alpha1\n  kind: ApplyReplacements\n  replacements:\n  - source: {{name: from, \
         fieldPath: {field}}}\n    targets: [{{select: {{name: to}}, fieldPaths: [{fields}], options: {{{options}}}}}]\n"
    );
    let ctx = Context {
        environment: &[],
        files: &NoFiles,
        run: &RunContext::default(),
    };
    let version = INFO.version(version).unwrap();
    wire::run(version, input.as_bytes(), &ctx).unwrap()
}

#[track_caller]
fn check(version: &str, field: &str, fields: &str, options: &str, line: &str) {
    let answer = run(version, field, fields, options);
    assert_eq!(answer.exit_code, 0, "{}", answer.stdout);
    let has_line = answer.stdout.lines().any(|given| given.trim() == line);
    assert!(has_line, "{line}\n{}", answer.stdout);
}

#[test]
fn the_engines_differ_in_what_they_copy() {
    let number = "data.number";
    check("v0.1.1", "data.port", number, "", "number: '8080' # public");
    check("v0.1.2", "data.port", number, "", "number: 8080 # ours");
    check("latest", "data.port", number, "", "number: '8080' # ours");
}

#[test]
fn parts_are_replaced() {
    let (host, url) = ("data.host", "data.url");
    let part = "delimiter: /, index: 2";
    check("v0.1.1", host, url, part, "url: http://web.example.com/");
    let first = "delimiter: ':', index: -1";
    check(
        "v0.1.2",
        host,
        url,
        first,
        "url: web.example.com:http://old:80/",
    );
}

#[test]
fn items_are_numbered_or_all() {
    check(
        "v0.1.2",
        "data.host",
        "data.list.1",
        "",
        "list: [a, web.example.com]",
    );
    check(
        "v0.1.2",
        "data.host",
        "data.list.*",
        "",
        "list: [web.example.com, web.example.com]",
    );
}

#[test]
fn what_is_missing_is_made_or_an_error_that_changes_nothing() {
    check(
        "v0.1.2",
        "data.port",
        "data.new.x",
        "create: true",
        "x: 8080",
    );
    let answer = run("v0.1.2", "data.port", "data.number, data.new", "");
    assert_eq!(answer.exit_code, 1);
    assert!(
        answer.stdout.contains("number: 1 # ours"),
        "{}",
        answer.stdout
    );
    let message = "unable to find field \"data.new\" in replacement target";
    assert!(answer.stdout.contains(message), "{}", answer.stdout);
    let answer = run("v0.1.1", "data.port", "data.new", "");
    assert_eq!(answer.exit_code, 0);
}
