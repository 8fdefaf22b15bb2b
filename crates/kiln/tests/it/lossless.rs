//! Nothing of a package is lost without a word: not by answers of nothing, by results in the package, by links, or on the
//! way to another directory.

use std::fs;
use std::os::unix::fs::symlink;

use crate::test_environment::{Outcome, TestEnvironment, files};

const HEAD: &str = "apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\n";
const LICENCE: &str = "# Copyright of the shop\n#\n# No rights reserved\n\n";

fn config_map(name: &str, value: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n  value: {value}\n")
}

/// A package whose pipeline runs a script.
fn package(script: &str) -> TestEnvironment {
    let test_env = TestEnvironment::new();
    test_env.write_program("fn.sh", &format!("#!/bin/sh\n{script}\n"));
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n";
    let pipeline = "pipeline:\n  mutators:\n  - exec: ./fn.sh\n";
    test_env.write("pkg/Kptfile", &format!("{kptfile}{pipeline}"));
    test_env.write(
        "pkg/a.yaml",
        &format!("{LICENCE}{}", config_map("a", "old")),
    );
    test_env
}

fn content(test_env: &TestEnvironment, path: &str) -> String {
    fs::read_to_string(test_env.work().join(path)).expect("a file")
}

fn render(test_env: &TestEnvironment, args: &[&str]) -> Outcome {
    let mut all = vec!["fn", "render", "pkg", "--allow-exec"];
    all.extend(args);
    test_env.kiln(&all, "")
}

const CHANGES: &str = "sed -e 's/value: old/value: new/'";

#[test]
fn an_answer_of_nothing_is_a_failure() {
    let answers = [
        (
            "cat >/dev/null",
            "it printed nothing instead of a ResourceList",
        ),
        (
            "cat >/dev/null; echo",
            r#"it printed "\n" instead of a ResourceList"#,
        ),
        (
            "cat >/dev/null; echo ---",
            r#"it printed "---\n" instead of a ResourceList"#,
        ),
        (
            "cat >/dev/null; echo '# c'",
            r##"it printed "# c\n" instead of a ResourceList"##,
        ),
        (
            "ITEMS",
            "it printed a ResourceList whose items are null instead of a list",
        ),
        (
            "ITEMS []\\n---\\nkind: ResourceList",
            "it printed a ResourceList as one of 2 documents instead of one alone",
        ),
        (
            "ITEMS []\\nitems:",
            "it printed a ResourceList that has items more than once",
        ),
        (
            "cat >/dev/null; echo 'kind: ResourceList'",
            "it printed a ResourceList without items",
        ),
        (
            "ITEMS {}",
            "it printed a ResourceList whose items are a mapping instead of a list",
        ),
    ];
    for (script, reason) in answers {
        let script = match script.strip_prefix("ITEMS") {
            Some(items) => format!("cat >/dev/null; printf '{HEAD}items:{items}\\n'"),
            None => script.to_owned(),
        };
        let test_env = package(&script);
        let before = files(&test_env.work());
        let without_status = |test_env: &TestEnvironment| {
            let mut files = files(&test_env.work());
            files.remove("pkg/Kptfile");
            files
        };
        let check = |ran: &Outcome, name: &str| {
            assert_eq!(ran.code, Some(1), "{script}: {}", ran.stderr);
            let whole = format!("{name:?}");
            assert!(ran.stderr.contains(&whole), "{}", ran.stderr);
            assert!(ran.stderr.contains(reason), "{}", ran.stderr);
            assert!(
                ran.stderr
                    .contains("to remove everything, print `items: []`"),
                "{}",
                ran.stderr
            );
        };
        check(&render(&test_env, &[]), "./fn.sh");
        let eval = test_env.kiln(&["fn", "eval", "pkg", "--exec", "./fn.sh"], "");
        check(&eval, "./fn.sh");
        let mut kept = before.clone();
        kept.remove("pkg/Kptfile");
        assert_eq!(without_status(&test_env), kept);
        let run = test_env.kiln(
            &[
                "fn",
                "run",
                "pkg",
                "--enable-exec",
                "--exec-path",
                "./fn.sh",
            ],
            "",
        );
        check(&run, "./fn.sh");
        assert_eq!(without_status(&test_env), kept);
    }
}

#[test]
fn kpt_takes_an_answer_of_nothing_for_an_empty_list() {
    let test_env = package("cat >/dev/null");
    let ran = render(&test_env, &["--compat=kpt"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stderr.contains("removed all"), "{}", ran.stderr);
    assert!(!test_env.work().join("pkg/a.yaml").exists());
}

#[test]
fn a_validator_may_print_nothing() {
    let test_env = package("cat >/dev/null");
    let kptfile = content(&test_env, "pkg/Kptfile").replace("mutators", "validators");
    test_env.write("pkg/Kptfile", &kptfile);
    let before = content(&test_env, "pkg/a.yaml");
    let ran = render(&test_env, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(!ran.stderr.contains("removed all"), "{}", ran.stderr);
    assert_eq!(content(&test_env, "pkg/a.yaml"), before);
}

#[test]
fn a_failure_counts_more_than_an_answer_of_nothing() {
    let test_env = package("cat >/dev/null; echo why >&2; exit 3");
    let ran = render(&test_env, &[]);
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("function failed: exit status 3"),
        "{}",
        ran.stderr
    );
    assert!(!ran.stderr.contains("instead of"), "{}", ran.stderr);
}

#[test]
fn a_package_that_lost_everything_is_in_the_summary() {
    let script = format!("cat >/dev/null; printf '{HEAD}items: []\\n'");
    let test_env = package(&script);
    test_env.write("pkg/b.yaml", &config_map("b", "x"));
    let warning = "[WARN] function \"./fn.sh\" removed all 2 resource(s) of package \"pkg\"\n";
    let preview = render(&test_env, &["--dry-run"]);
    assert!(preview.stderr.contains(warning), "{}", preview.stderr);
    let ran = render(&test_env, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let summary = "Successfully executed 1 function(s) in 1 package(s).\n";
    let changes = "Changed 3 files: Kptfile (deleted), a.yaml (deleted), b.yaml (deleted)\n";
    let end = format!("{summary}{changes}{warning}");
    assert!(ran.stderr.contains(&end), "{}", ran.stderr);
    assert!(!test_env.work().join("pkg/a.yaml").exists());
}

#[test]
fn a_sub_package_that_lost_everything_is_in_the_summary() {
    let test_env = package("cat");
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n";
    let pipeline = format!(
        "pipeline:\n  mutators:\n  - exec: {}\n",
        test_env.work().join("empty.sh").display()
    );
    let emptying = format!("#!/bin/sh\ncat >/dev/null; printf '{HEAD}items: []\\n'\n");
    test_env.write_program("empty.sh", &emptying);
    test_env.write("pkg/sub/Kptfile", &format!("{kptfile}{pipeline}"));
    test_env.write("pkg/sub/c.yaml", &config_map("c", "x"));
    let ran = render(&test_env, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let warning = "removed all 1 resource(s) of package \"pkg/sub\"\n";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    assert_eq!(
        ran.stderr.matches("removed all").count(),
        1,
        "{}",
        ran.stderr
    );
}

#[test]
fn eval_reports_that_nothing_is_left() {
    let script = format!("cat >/dev/null; printf '{HEAD}items: []\\n'");
    let test_env = package(&script);
    let ran = test_env.kiln(&["fn", "eval", "pkg", "--exec", "./fn.sh"], "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let warning = "[WARN] function \"./fn.sh\" removed all 1 resource(s)\n";
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
}

/// A function that prints one other resource instead of those that it was given.
#[test]
fn what_a_function_adds_does_not_hide_what_it_removed() {
    let script =
        "cat >/dev/null; printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata:\\n  name: new\\n'";
    let warning = "removed all 1 resource(s)";
    let test_env = package(script);
    let ran = render(&test_env, &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    for args in [
        &["fn", "eval", "pkg", "--exec", "./fn.sh"][..],
        &[
            "fn",
            "run",
            "pkg",
            "--enable-exec",
            "--exec-path",
            "./fn.sh",
        ],
    ] {
        let test_env = package(script);
        let ran = test_env.kiln(args, "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains(warning), "{}", ran.stderr);
    }
    // The same resource with another name, and one without the numbers that inputs get, are not removed.
    for script in ["sed -e 's/name: a$/name: b/'", "grep -v '/id: '"] {
        let ran = render(&package(script), &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(!ran.stderr.contains("removed all"), "{}", ran.stderr);
    }
}

#[test]
fn a_kptfile_that_a_function_removes_is_reported() {
    let script = "sed -e '/^- apiVersion: kpt.dev/,/^- apiVersion: v1$/{/^- apiVersion: v1$/!d}'";
    for (command, warning) in [
        (
            "render",
            "[WARN] function \"./fn.sh\" removed the Kptfile of package \"pkg\"\n",
        ),
        ("eval", "[WARN] function \"./fn.sh\" removed the Kptfile\n"),
    ] {
        let test_env = package(script);
        let mut args = vec!["fn", command, "pkg"];
        match command {
            "render" => args.push("--allow-exec"),
            _ => args.extend(["--exec", "./fn.sh"]),
        }
        let ran = test_env.kiln(&args, "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains(warning), "{}", ran.stderr);
        assert!(!ran.stderr.contains("removed all"), "{}", ran.stderr);
        assert!(test_env.work().join("pkg/a.yaml").exists());
    }
}

/// Text that follows a document without `---`: kpt reads the first document, and loses the rest when it writes.
#[test]
fn text_below_a_document_is_not_lost() {
    let object = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}"#;
    let two = format!("{object}\n{object}\n");
    let native =
        "pipeline:\n  mutators:\n  - image: set-annotations:v0.1.4\n    configMap: {added: x}\n";
    for (path, text, place) in [
        ("a.json", two.clone(), "pkg/a.json:2:1: "),
        ("a.yaml", two, "pkg/a.yaml:2:1: "),
        (
            "a.yaml",
            format!("{}...\n{}", config_map("a", "x"), config_map("b", "x")),
            "pkg/a.yaml:8:1: ",
        ),
    ] {
        let test_env = TestEnvironment::new();
        let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n";
        test_env.write("pkg/Kptfile", &format!("{kptfile}{native}"));
        test_env.write(&format!("pkg/{path}"), &text);
        let ran = test_env.kiln(&["fn", "render", "pkg"], "");
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains(place), "{}", ran.stderr);
        assert_eq!(content(&test_env, &format!("pkg/{path}")), text);
        let eval = [
            "fn",
            "eval",
            "pkg",
            "--image",
            "set-labels:v0.2.0",
            "--",
            "a=b",
        ];
        let ran = test_env.kiln(&eval, "");
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(ran.stderr.contains(place), "{}", ran.stderr);
        assert_eq!(content(&test_env, &format!("pkg/{path}")), text);
    }
}

/// What is piped in is not cut off below its first document either.
#[test]
fn text_below_a_document_on_standard_input_is_refused() {
    let object = r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}"#;
    let two = format!("{object}\n{object}\n");
    let eval = [
        "fn",
        "eval",
        "-",
        "--image",
        "set-labels:v0.2.0",
        "--",
        "a=b",
    ];
    for args in [eval.as_slice(), &["fn", "sink", "out"], &["fn", "run"]] {
        let test_env = TestEnvironment::new();
        let ran = test_env.kiln(args, &two);
        assert_eq!(ran.code, Some(1), "{args:?}: {}", ran.stdout);
        assert!(ran.stderr.contains("<stdin>:2:1: "), "{}", ran.stderr);
        assert!(!test_env.work().join("out").exists(), "{args:?}");
    }
    let test_env = TestEnvironment::new();
    let as_kpt = [["--compat=kpt"].as_slice(), &eval].concat();
    let ran = test_env.kiln(&as_kpt, &two);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
}

/// Two resources without `---` between them are one document that has its keys twice.
#[test]
fn repeated_keys_are_not_lost() {
    let test_env = TestEnvironment::new();
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n";
    let native =
        "pipeline:\n  mutators:\n  - image: set-annotations:v0.1.4\n    configMap: {added: x}\n";
    test_env.write("pkg/Kptfile", &format!("{kptfile}{native}"));
    let second = config_map("b", "other");
    test_env.write("pkg/a.yaml", &format!("{}{second}", config_map("a", "x")));
    for _ in 0..2 {
        let ran = test_env.kiln(&["fn", "render", "pkg"], "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let text = content(&test_env, "pkg/a.yaml");
        assert!(text.contains("added: x"), "{text}");
        assert!(text.ends_with(&second), "{text}");
        assert!(!text.contains("internal.config"), "{text}");
    }
}

#[test]
fn another_directory_gets_the_bytes_of_what_did_not_change() {
    let test_env = package(CHANGES);
    let second = format!("{LICENCE}{}", config_map("b", "same"));
    let third = config_map("c", "old");
    test_env.write("pkg/b.yaml", &second);
    test_env.write(
        "pkg/both.yaml",
        &format!("# only a comment\n---\n{second}--- # separator\n{third}# the end\n"),
    );
    test_env.write("pkg/crlf.yaml", &second.replace('\n', "\r\n"));
    test_env.write(
        "pkg/c.json",
        "{\"apiVersion\": \"v1\",\n \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"j\"}}\n",
    );
    let before = files(&test_env.work().join("pkg"));
    let expected = |path: &str| before[path].replace("value: old", "value: new");
    let eval = ["fn", "eval", "pkg", "--exec", "./fn.sh", "-o", "evaluated"];
    let render = ["fn", "render", "pkg", "--allow-exec", "-o", "rendered"];
    for (args, directory) in [(&eval[..], "evaluated"), (&render, "rendered")] {
        let ran = test_env.kiln(args, "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let written = files(&test_env.work().join(directory));
        for path in ["a.yaml", "b.yaml", "both.yaml", "crlf.yaml", "c.json"] {
            assert_eq!(written[path], expected(path), "{directory}/{path}");
        }
        assert_eq!(written.len(), before.len());
    }
    let mut args = render;
    args[5] = "unwrap";
    let ran = test_env.kiln(&args, "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains(&expected("a.yaml")), "{}", ran.stdout);
    assert!(
        ran.stdout.contains(&format!("---\n{second}")),
        "{}",
        ran.stdout
    );
}

#[test]
fn results_in_the_package_are_not_resources() {
    let script = "sed -e 's/    name: fnresults/    name: changed/'; printf 'results:\\n- message: hm\\n  severity: info\\n'";
    let test_env = package(script);
    let base = test_env.work();
    symlink("pkg/out", base.join("link")).expect("a link");
    symlink("pkg", base.join("package-link")).expect("a link");
    let absolute = base.join("pkg/out").display().to_string();
    let mut first = None;
    for directory in [
        "pkg/out",
        &absolute,
        "link",
        "package-link/out",
        "./pkg/sub/../out",
    ] {
        for command in ["render", "eval"] {
            let mut args = vec!["fn", command, "pkg", "--results-dir", directory];
            match command {
                "render" => args.push("--allow-exec"),
                _ => args.extend(["--exec", "./fn.sh"]),
            }
            fs::create_dir_all(base.join("pkg/sub")).expect("a directory");
            let ran = test_env.kiln(&args, "");
            assert_eq!(ran.code, Some(0), "{directory}: {}", ran.stderr);
            let results = content(&test_env, "pkg/out/results.yaml");
            assert!(results.contains("kind: FunctionResultList\n"), "{results}");
            assert!(results.contains("message: hm\n"), "{results}");
            assert!(results.contains("name: fnresults\n"), "{results}");
            assert_eq!(
                *first.get_or_insert(results.clone()),
                results,
                "{directory}, {command}"
            );
        }
    }
}

#[test]
fn results_do_not_replace_resources() {
    let test_env = package("cat");
    test_env.write("pkg/results.yaml", &config_map("mine", "x"));
    let before = files(&test_env.work());
    for args in [
        &[
            "fn",
            "render",
            "pkg",
            "--allow-exec",
            "--results-dir",
            "pkg",
        ][..],
        &[
            "fn",
            "eval",
            "pkg",
            "--exec",
            "./fn.sh",
            "--results-dir",
            "pkg",
        ],
    ] {
        let ran = test_env.kiln(args, "");
        assert_eq!(ran.code, Some(1), "{}", ran.stderr);
        assert!(
            ran.stderr.contains("results.yaml contains resources"),
            "{}",
            ran.stderr
        );
        assert_eq!(files(&test_env.work()), before);
    }
}

#[test]
fn links_in_a_package_are_written_through() {
    for command in ["render", "eval"] {
        let test_env = package(CHANGES);
        let pkg = test_env.work().join("pkg");
        test_env.write(
            "pkg/sub/Kptfile",
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: sub\n",
        );
        test_env.write("pkg/real/r.yaml", &config_map("r", "old"));
        let links = [
            ("a.yaml", "b.yaml"),
            ("b.yaml", "chain.yaml"),
            ("../a.yaml", "sub/up.yaml"),
            ("sub/../real/r.yaml", "r.yaml"),
            ("real", "directory"),
        ];
        for (target, name) in links {
            symlink(target, pkg.join(name)).expect("a link");
        }
        fs::hard_link(pkg.join("real/r.yaml"), pkg.join("real/hard.yaml")).expect("a link");
        let mut args = vec!["fn", command, "pkg"];
        match command {
            "render" => args.push("--allow-exec"),
            _ => args.extend(["--exec", "./fn.sh"]),
        }
        let ran = test_env.kiln(&args, "");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        for (target, name) in links {
            let link = fs::read_link(pkg.join(name)).expect("still a link");
            assert_eq!(link.to_str(), Some(target));
        }
        let changed = format!("{LICENCE}{}", config_map("a", "new"));
        for path in [
            "pkg/a.yaml",
            "pkg/b.yaml",
            "pkg/chain.yaml",
            "pkg/sub/up.yaml",
        ] {
            assert_eq!(content(&test_env, path), changed, "{path}");
        }
        for path in ["pkg/real/r.yaml", "pkg/real/hard.yaml", "pkg/r.yaml"] {
            assert_eq!(content(&test_env, path), config_map("r", "new"), "{path}");
        }
    }
}

#[test]
fn different_changes_of_one_file_are_refused() {
    // The value becomes the path of the resource.
    let script = "awk '/internal.config.kubernetes.io\\/path:/ {path=$2; gsub(/\\x27/, \"\", path)} \
                  /value: old/ {sub(/old/, path)} {print}'";
    let test_env = package(script);
    symlink("a.yaml", test_env.work().join("pkg/b.yaml")).expect("a link");
    let before = content(&test_env, "pkg/a.yaml");
    let ran = render(&test_env, &[]);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    let reason =
        "cannot write b.yaml: it is the same file as a.yaml, which is to be changed in another way";
    assert!(ran.stderr.contains(reason), "{}", ran.stderr);
    assert_eq!(content(&test_env, "pkg/a.yaml"), before);
}

/// A package whose pipeline runs a built-in function with a configuration.
fn native_package(image: &str, config: &str, resource: &str) -> TestEnvironment {
    let test_env = TestEnvironment::new();
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n";
    let step = format!("pipeline:\n  mutators:\n  - image: {image}\n    {config}\n");
    test_env.write("pkg/Kptfile", &format!("{kptfile}{step}"));
    test_env.write("pkg/a.yaml", resource);
    test_env
}

#[test]
fn an_alias_keeps_the_value_of_an_anchor_that_a_function_replaces() {
    let resource = |namespace: &str, alias: &str| {
        format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  namespace: {namespace}\n\
             data:\n  first: {alias} # kept\n  second: *ns\n"
        )
    };
    let config = "configMap:\n      namespace: prod";
    let test_env = native_package("set-namespace:v0.4.1", config, &resource("&ns old", "*ns"));
    for _ in 0..2 {
        let ran = render(&test_env, &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(
            content(&test_env, "pkg/a.yaml"),
            resource("prod", "&ns old")
        );
    }
}

#[test]
fn other_line_breaks_do_not_move_fields() {
    for line_break in ["\r", "\u{85}", "\u{2028}", "\u{2029}"] {
        let resource = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a{line_break}data:\n  a: b\n"
        );
        let config = "configMap:\n      namespace: prod";
        let test_env = native_package("set-namespace:v0.4.1", config, &resource);
        let ran = render(&test_env, &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let written = content(&test_env, "pkg/a.yaml");
        let (metadata, data) = written.rsplit_once("data:\n").expect("a second field");
        assert!(metadata.contains("namespace: prod"), "{written:?}");
        assert!(!data.contains("namespace"), "{written:?}");
        let ran = render(&test_env, &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert_eq!(content(&test_env, "pkg/a.yaml"), written);
    }
}

#[test]
fn files_that_were_not_read_are_not_replaced() {
    let script = "configPath: fn.yaml";
    for path in ["README.md", "ignored.yaml", ".krmignore", ".git/hooks"] {
        let test_env = native_package("starlark:v0.5.0", script, &config_map("a", "old"));
        let keys = [
            "internal.config.kubernetes.io/path",
            "config.kubernetes.io/path",
        ];
        let lines = keys
            .map(|key| format!("    r[\"metadata\"][\"annotations\"][\"{key}\"] = \"{path}\"\n"));
        let config = format!(
            "apiVersion: fn.kpt.dev/v1alpha1\nkind: StarlarkRun\nmetadata:\n  name: fn\n  annotations:\n    \
             config.kubernetes.io/local-config: 'true'\nsource: |\n  for r in ctx.resource_list[\"items\"]:\n    \
             if r[\"kind\"] == \"ConfigMap\":\n  {}  {}",
            lines[0], lines[1]
        );
        test_env.write("pkg/fn.yaml", &config);
        test_env.write("pkg/README.md", "# Shop\n");
        test_env.write("pkg/ignored.yaml", "a: b\n");
        test_env.write("pkg/.krmignore", "ignored.yaml\n");
        let before = files(&test_env.work());
        let ran = render(&test_env, &["--no-status"]);
        assert_eq!(ran.code, Some(1), "{path}: {}", ran.stderr);
        let reason = format!("cannot write {path}: ");
        assert!(ran.stderr.contains(&reason), "{}", ran.stderr);
        assert_eq!(files(&test_env.work()), before, "{path}");
    }
}

#[test]
fn a_kptfile_without_its_path_stays_the_kptfile() {
    let config = "configMap:\n      prepend: dev-";
    let image = "ensure-name-substring:v0.2.1";
    let test_env = native_package(image, config, &config_map("a", "old"));
    for _ in 0..2 {
        let ran = render(&test_env, &[]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let kptfile = content(&test_env, "pkg/Kptfile");
        assert!(kptfile.contains("kind: Kptfile"), "{kptfile}");
    }
}
