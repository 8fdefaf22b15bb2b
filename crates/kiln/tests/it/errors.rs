//! Error messages in kiln's own mode: a table of mistakes, and the standard error of each in `errors.txt`. The recorded cases
//! check kpt's messages.

use std::fmt::Write;

use crate::example::check_golden;
use crate::test_environment::{TestEnvironment, run};

const RESOURCE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
const RENDER: &[&str] = &["render", "pkg", "--allow-exec"];

/// A mistake: the end of the root Kptfile, files besides, and the command that meets it.
type Mistake<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a [&'a str]);

const MISTAKES: &[Mistake<'_>] = &[
    ("no such package", "", &[], &["render", "nope"]),
    (
        "no Kptfile",
        "",
        &[("dir/a.yaml", RESOURCE)],
        &["render", "dir"],
    ),
    ("a Kptfile that is not YAML", "a: b: c\n", &[], RENDER),
    (
        "a field that a Kptfile does not have",
        "pipeline:\n  mutators:\n    - exec: cat\n      args: []\n",
        &[],
        RENDER,
    ),
    (
        "a sub-package whose Kptfile is of another kind",
        "",
        &[(
            "pkg/sub/Kptfile",
            "apiVersion: kpt.dev/v9\nkind: Kptfile\nmetadata:\n  name: sub\n",
        )],
        RENDER,
    ),
    (
        "no function",
        "pipeline:\n  mutators:\n    - configPath: x.yaml\n",
        &[],
        RENDER,
    ),
    (
        "an invalid image",
        "pipeline:\n  validators:\n    - image: a b\n",
        &[],
        RENDER,
    ),
    (
        "a configPath that is not there",
        "pipeline:\n  mutators:\n    - exec: cat\n      configPath: x.yaml\n",
        &[],
        RENDER,
    ),
    (
        "a configPath outside",
        "pipeline:\n  mutators:\n    - exec: cat\n      configPath: ../x.yaml\n",
        &[],
        RENDER,
    ),
    (
        "a configPath in a sub-package",
        "pipeline:\n  mutators:\n    - exec: cat\n      configPath: sub/c.yaml\n",
        &[
            (
                "pkg/sub/Kptfile",
                "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n",
            ),
            ("pkg/sub/c.yaml", RESOURCE),
        ],
        RENDER,
    ),
    (
        "programs are not allowed",
        "pipeline:\n  mutators:\n    - image: set-labels:v0.2.0\n      configMap: {a: b}\n    - exec: cat\n",
        &[],
        &["render", "pkg"],
    ),
    (
        "a quote that is not closed",
        "pipeline:\n  mutators:\n    - exec: cat \"x\n",
        &[],
        RENDER,
    ),
    (
        "a program that is not there",
        "pipeline:\n  mutators:\n    - exec: ./nope\n",
        &[],
        RENDER,
    ),
    (
        "a program that is not on the path",
        "pipeline:\n  mutators:\n    - exec: nope\n",
        &[],
        RENDER,
    ),
    (
        "a program that is not executable",
        "pipeline:\n  mutators:\n    - exec: ./plain\n",
        &[("plain", "x\n")],
        RENDER,
    ),
    (
        "a function that fails",
        "pipeline:\n  mutators:\n    - exec: /bin/sh -c \"echo oops >&2; exit 7\"\n",
        &[],
        RENDER,
    ),
    (
        "a function that fails and has a file of configuration",
        "pipeline:\n  validators:\n    - exec: /bin/false\n      configPath: c.yaml\n",
        &[("pkg/c.yaml", RESOURCE)],
        RENDER,
    ),
    (
        "a function that is killed",
        "pipeline:\n  mutators:\n    - exec: /bin/sh -c \"kill -9 $$\"\n",
        &[],
        RENDER,
    ),
    (
        "a function that crashes",
        "pipeline:\n  mutators:\n    - exec: /bin/sh -c \"kill -11 $$\"\n",
        &[],
        RENDER,
    ),
    (
        "a program that a function does not find",
        "pipeline:\n  mutators:\n    - exec: /bin/sh -c \"exit 127\"\n",
        &[],
        RENDER,
    ),
    (
        "a function that takes too long",
        "pipeline:\n  mutators:\n    - exec: /bin/sleep 1000\n",
        &[],
        &["render", "pkg", "--allow-exec", "--timeout", "10ms"],
    ),
    (
        "a function that writes too much",
        "pipeline:\n  mutators:\n    - exec: /bin/echo 0123456789\n",
        &[],
        &["render", "pkg", "--allow-exec", "--max-output", "9"],
    ),
    (
        "a native function that fails",
        "pipeline:\n  mutators:\n    - image: set-namespace:v0.4.1\n",
        &[("pkg/a.yaml", RESOURCE)],
        &["render", "pkg"],
    ),
    (
        "a function that fails, for eval",
        "",
        &[],
        &["eval", "pkg", "--exec", "/bin/false"],
    ),
    (
        "a function that fails, for run",
        "",
        &[("pkg/a.yaml", RESOURCE)],
        &["run", "pkg", "--enable-exec", "--exec-path", "/bin/false"],
    ),
    (
        "a declared function that fails, for run",
        "",
        &[(
            "pkg/sub/f.yaml",
            "apiVersion: v1\nkind: A\nmetadata:\n  name: a\n---\napiVersion: v1\nkind: F\nmetadata:\n  name: f\n  annotations:\n    config.kubernetes.io/function: |\n      exec: {path: /bin/false}\n",
        )],
        &["run", "pkg", "--enable-exec"],
    ),
    (
        "a function of a sub-package that prints garbage",
        "",
        &[(
            "pkg/sub/Kptfile",
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\npipeline:\n  validators:\n    - exec: /bin/echo 'a - {'\n",
        )],
        RENDER,
    ),
    (
        "a function that returns something that is not a resource",
        "pipeline:\n  mutators:\n    - exec: \"/bin/echo {apiVersion: v1, kind: A, metadata: {}}\"\n",
        &[],
        RENDER,
    ),
    (
        "no version",
        "pipeline:\n  mutators:\n    - image: 127.0.0.1:1/foo\n      tag: ~0.9\n",
        &[],
        RENDER,
    ),
    (
        "no container engine",
        "pipeline:\n  mutators:\n    - image: example.com/foo:v1\n    - image: set-labels:v0.2.0\n  validators:\n    - image: example.com/bar\n",
        &[(
            "pkg/z/sub/Kptfile",
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\npipeline:\n  validators:\n    - image: nope\n    - exec: cat\n",
        )],
        RENDER,
    ),
    (
        "no container engine for eval",
        "",
        &[],
        &["eval", "pkg", "--image", "example.com/foo"],
    ),
    (
        "no container engine for run",
        "",
        &[],
        &["run", "pkg", "--image", "example.com/foo"],
    ),
    (
        "no container engine for doc",
        "",
        &[],
        &["doc", "--image", "example.com/foo"],
    ),
    (
        "a program that is not WebAssembly",
        "pipeline:\n  mutators:\n    - exec: /bin/cat\n",
        &[],
        &[
            "render",
            "pkg",
            "--compat=kpt",
            "--allow-alpha-wasm",
            "--allow-exec",
        ],
    ),
    (
        "a module for eval that does not exist",
        "",
        &[],
        &[
            "eval",
            "pkg",
            "--compat=kpt",
            "--allow-alpha-wasm",
            "--exec",
            "./x.wasm",
        ],
    ),
    (
        "a program for eval beside the flag",
        "",
        &[],
        &["eval", "pkg", "--allow-alpha-wasm", "--exec", "/bin/cat"],
    ),
    (
        "a module that cannot be run",
        "pipeline:\n  mutators:\n    - exec: ./x.wasm\n",
        &[("x.wasm", "\0asm\x01\0\0\0")],
        RENDER,
    ),
    (
        "a resource that is not YAML",
        "",
        &[("pkg/b.yaml", "a: 1\n---\nb:\n\tc\n")],
        RENDER,
    ),
    (
        "the same for eval",
        "",
        &[("pkg/b.yaml", "a: 1\n---\nb:\n\tc\n")],
        &["eval", "pkg", "--exec", "cat"],
    ),
    (
        "the same for run",
        "",
        &[("pkg/b.yaml", "a: 1\n---\nb:\n\tc\n")],
        &["run", "pkg"],
    ),
    (
        "the same for source",
        "",
        &[("pkg/b.yaml", "a: 1\n---\nb:\n\tc\n")],
        &["source", "pkg"],
    ),
    (
        "a file that holds no resource",
        "",
        &[("pkg/b.yaml", "a: 1\n")],
        RENDER,
    ),
    (
        "results that cannot be written",
        "",
        &[("res/results.yaml/x", "")],
        &["render", "pkg", "--results-dir", "res"],
    ),
    (
        "the same for eval",
        "",
        &[("res/results.yaml/x", "")],
        &["eval", "pkg", "--exec", "/bin/cat", "--results-dir", "res"],
    ),
    (
        "a directory for results that cannot be made",
        "",
        &[("res", "")],
        &["render", "pkg", "--results-dir", "res/x"],
    ),
    (
        "an output that is there",
        "",
        &[],
        &["render", "pkg", "-o", "pkg"],
    ),
    (
        "a program that is not there, for eval",
        "",
        &[],
        &["eval", "pkg", "--exec", "./nope"],
    ),
    (
        "a program that is not there, for run",
        "",
        &[],
        &["run", "pkg", "--enable-exec", "--exec-path", "./nope"],
    ),
    ("nothing to evaluate", "", &[], &["eval", "pkg"]),
    (
        "a configuration that is not there",
        "",
        &[],
        &["eval", "pkg", "--exec", "cat", "--fn-config", "nope"],
    ),
    ("no such directory, for run", "", &[], &["run", "nope"]),
    (
        "a directory that is there, for sink",
        "",
        &[],
        &["sink", "pkg"],
    ),
    ("no image, for doc", "", &[], &["doc"]),
];

#[test]
fn every_mistake_is_explained() {
    let mut message = String::new();
    for (title, kptfile, files, args) in MISTAKES {
        let test_env = TestEnvironment::new();
        let head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n";
        test_env.write("pkg/Kptfile", &format!("{head}{kptfile}"));
        test_env.write("pkg/a.yaml", RESOURCE);
        for (path, content) in *files {
            test_env.write(path, content);
        }
        let mut command = test_env.command("kiln", &test_env.work());
        // No engine is to be found, and nothing else.
        command.env("PATH", test_env.bin());
        let ran = run(command.arg("fn").args(*args), "");
        let place = test_env.work().display().to_string();
        let _ = writeln!(message, "## {title}\n$ kiln fn {}", args.join(" "));
        for line in ran.stderr.replace(&place, "/work").lines() {
            let line = without_time(line);
            let _ = writeln!(message, "{}", line.trim_end());
        }
        let _ = writeln!(message, "=> {}\n", ran.code.unwrap_or(-1));
    }
    check_golden("errors.txt", &message);
}

/// Commands that read Kptfiles without rendering explain them as a render does.
#[test]
fn a_kptfile_is_explained_outside_of_a_render() {
    let test_env = TestEnvironment::new();
    let head = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n";
    test_env.write("pkg/Kptfile", head);
    test_env.write(
        "pkg/sub/Kptfile",
        &format!("{head}pipeline:\n  mutatrs: []\n"),
    );
    for verb in [&["lock"] as &[&str], &["policy", "check"]] {
        let mut command = test_env.command("kiln", &test_env.work());
        let ran = run(command.args(verb).arg("pkg"), "");
        assert_eq!(
            ran.stderr,
            "Error: the Kptfile is invalid:\n  pkg/sub/Kptfile:6: unknown field \"mutatrs\"\n  at pkg/sub/Kptfile:6:3\n\
             6 |   mutatrs: []\n  |   ^\nhint: did you mean \"mutators\"?\n",
            "{verb:?}"
        );
        assert_eq!(ran.code, Some(1));
    }
}

/// Durations differ.
fn without_time(line: &str) -> &str {
    match line.rsplit_once(" in ") {
        Some((before, _)) if line.starts_with("[PASS]") || line.starts_with("[FAIL]") => before,
        _ => line,
    }
}
