//! The functions that are built in: in pipelines, and as programs for other tools.

use std::fs;

use crate::test_environment::{TestEnvironment, run};

const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Service
  metadata:
    name: web # the shop
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: config}
  data: {namespace: prod}
";

const ANSWER: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Service
  metadata:
    name: web # the shop
    namespace: prod
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: config}
  data: {namespace: prod}
results:
- message: namespace \"\" updated to \"prod\", 1 value(s) changed
  severity: info
";

#[test]
fn functions_are_listed_and_explained() {
    let test_env = TestEnvironment::new();
    let list = test_env.kiln(&["function", "list"], "");
    assert_eq!((list.code, list.stderr.as_str()), (Some(0), ""));
    assert!(
        list.stdout
            .lines()
            .any(|line| line.starts_with("set-namespace ")),
        "{list:?}"
    );
    let versions = test_env.kiln(&["function", "list", "--versions"], "");
    assert!(versions.stdout.contains(" v0.4.1"), "{versions:?}");
    let doc = test_env.kiln(&["function", "doc", "set-labels"], "");
    assert!(doc.stdout.contains("kind: SetLabels"), "{doc:?}");
    let unknown = test_env.kiln(&["function", "doc", "set-lables"], "");
    assert_eq!(unknown.code, Some(2));
    let start = "error: \"set-lables\" is not a built-in function\nhint: did you mean set-labels? ";
    assert!(unknown.stderr.starts_with(start), "{unknown:?}");
}

#[test]
fn a_function_is_a_program() {
    let test_env = TestEnvironment::new();
    let ran = test_env.kiln(&["function", "run", "set-namespace:v0.4.1"], LIST);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    assert_eq!(ran.stdout, ANSWER);
    let empty = "kind: ResourceList\nitems: []\n";
    let failed = test_env.kiln(&["function", "run", "set-namespace:v0.4.1"], empty);
    assert_eq!(failed.code, Some(1));
    assert_eq!(
        failed.stderr,
        "failed to evaluate function: error: function failure"
    );
    let unknown = test_env.kiln(&["function", "run", "set-namespace:v7.0.0"], LIST);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (Some(2), ""));
    let start = "error: set-namespace has no built-in version \"v7.0.0\"\n\
                 hint: the built-in versions of set-namespace are v0.";
    assert!(unknown.stderr.starts_with(start), "{unknown:?}");
}

#[test]
fn links_are_functions() {
    let test_env = TestEnvironment::new();
    let installed = test_env.kiln(
        &[
            "function",
            "install",
            "fns",
            "set-namespace:v0.4.1",
            "set-labels",
        ],
        "",
    );
    assert_eq!(installed.code, Some(0), "{installed:?}");
    let link = |name: &str| test_env.work().join("fns").join(name).display().to_string();
    let mut command = test_env.command(&link("set-namespace:v0.4.1"), &test_env.work());
    assert_eq!(run(&mut command, LIST).stdout, ANSWER);
    let mut command = test_env.command(&link("set-labels"), &test_env.work());
    let refused = run(command.arg("file.yaml"), LIST);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused
            .stderr
            .contains("reads a ResourceList from standard input"),
        "{refused:?}"
    );

    // Twice is once, and what is not ours stays.
    assert_eq!(
        test_env
            .kiln(&["function", "install", "fns", "set-labels"], "")
            .code,
        Some(0)
    );
    test_env.write("fns/format", "mine");
    let refused = test_env.kiln(&["function", "install", "fns"], "");
    assert_eq!(refused.code, Some(1));
    assert!(
        refused
            .stderr
            .contains("fns/format already exists and is not a link to kiln"),
        "{refused:?}"
    );
    let names = fs::read_dir(test_env.work().join("fns"))
        .expect("a directory")
        .count();
    assert_eq!(names, 3);
    assert_eq!(
        fs::read_to_string(test_env.work().join("fns/format")).expect("a file"),
        "mine"
    );
}

const KPTFILE: &str = "\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: package
pipeline:
  mutators:
  - image: gcr.io/kpt-fn/set-namespace:v0.4.1
    configMap:
      namespace: prod
  - image: set-labels
    tag: ~0.2
    configMap:
      color: orange
";

#[test]
fn pipelines_need_no_engine() {
    let test_env = TestEnvironment::new();
    test_env.write("package/Kptfile", KPTFILE);
    test_env.write(
        "package/service.yaml",
        "# Licence\n\napiVersion: v1\nkind: Service\nmetadata:\n  name: web # the shop\n",
    );
    let mut command = test_env.command("kiln", &test_env.work());
    let rendered = run(
        command
            .args(["fn", "render", "package"])
            .env("KRM_FN_RUNTIME", "nerdctl"),
        "",
    );
    assert_eq!(rendered.code, Some(0), "{rendered:?}");
    let expected = "Package \"package\":\n\
        [RUNNING] \"gcr.io/kpt-fn/set-namespace:v0.4.1\" on package \"package\"\n";
    assert!(rendered.stderr.starts_with(expected), "{rendered:?}");
    assert!(
        rendered
            .stderr
            .contains("krm-functions-catalog/set-labels:v0.2.5\""),
        "{rendered:?}"
    );
    let service = fs::read_to_string(test_env.work().join("package/service.yaml")).expect("a file");
    assert!(
        service.contains("name: web # the shop\n  namespace: prod\n"),
        "{service}"
    );
    assert!(service.contains("color: orange"), "{service}");
}

#[test]
fn native_functions_can_be_turned_off() {
    let test_env = TestEnvironment::new();
    test_env.write("package/Kptfile", KPTFILE);
    test_env.write_program(
        "bin/docker",
        "#!/bin/sh\necho called >>\"$0.calls\"\nexit 1\n",
    );
    let path = format!("{}:/usr/bin:/bin", test_env.work().join("bin").display());
    let kiln = env!("CARGO_BIN_EXE_kiln");
    for (flags, calls) in [(&[] as &[&str], false), (&["--no-native"], true)] {
        let mut command = test_env.command(kiln, &test_env.work());
        command
            .env("PATH", &path)
            // No registry is asked for the range in the pipeline.
            .args(["fn", "render", "package", "--image-pull-policy=Never"])
            .args(flags);
        run(&mut command, "");
        let called = test_env.work().join("bin/docker.calls").exists();
        assert_eq!(called, calls, "{flags:?}");
    }
}

#[test]
fn the_example_of_the_catalog_renders() {
    let test_env = TestEnvironment::new();
    let example = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/catalog");
    let rendered = test_env.kiln(&["fn", "render", example, "-o", "unwrap"], "");
    assert_eq!(rendered.code, Some(0), "{rendered:?}");
    assert_eq!(
        rendered.stdout.matches("namespace: prod\n").count(),
        3,
        "{rendered:?}"
    );
}

/// The Kptfile of a package with one native function.
fn package_of(function: &str) -> String {
    format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: package\npipeline:\n  mutators:\n  - image: {function}\n"
    )
}

/// Renders the package in both modes, from the same files.
#[track_caller]
fn render_in_both_modes(files: &[(&str, &str)], path: &str, expected: &str) {
    for mode in ["--compat=kiln", "--compat=kpt"] {
        let test_env = TestEnvironment::new();
        for (path, content) in files {
            test_env.write(&format!("package/{path}"), content);
        }
        let rendered = test_env.kiln(&[mode, "fn", "render", "package"], "");
        assert_eq!(rendered.code, Some(0), "{mode}: {rendered:?}");
        let text = fs::read_to_string(test_env.work().join("package").join(path)).expect("a file");
        assert_eq!(text, expected, "{mode}");
    }
}

#[test]
fn a_resource_that_is_there_is_replaced() {
    let new = "apiVersion: v1\nkind: Service\nmetadata:\n  name: front\nspec:\n  # which pods\n  selector:\n    app: new\n";
    let old = "apiVersion: v1\nkind: Service\nmetadata:\n  name: front\nspec:\n  selector:\n    app: old\n";
    for version in ["v0.2.1", "latest"] {
        let function = format!("upsert-resource:{version}\n    configPath: fn.yaml");
        let kptfile = package_of(&function);
        let files = [
            ("Kptfile", kptfile.as_str()),
            ("fn.yaml", new),
            ("service.yaml", old),
        ];
        render_in_both_modes(&files, "service.yaml", new);
    }
}

#[test]
fn a_field_may_become_null() {
    let function = "search-replace:v0.2.0\n    configMap:\n      by-path: spec.selector\n      put-value: \"null\"";
    let kptfile = package_of(function);
    let service = "apiVersion: v1\nkind: Service\nmetadata:\n  name: front\nspec:\n  selector:\n    app: old\n";
    let files = [("Kptfile", kptfile.as_str()), ("service.yaml", service)];
    let expected = service.replace("selector:\n    app: old\n", "selector: null\n");
    render_in_both_modes(&files, "service.yaml", &expected);
}

#[test]
fn the_name_of_a_resource_in_json_may_become_the_text_null() {
    let function = "search-replace:v0.2.1\n    configMap:\n      by-path: metadata.name\n      put-value: \"null\"\n    selectors:\n    - kind: ConfigMap";
    let kptfile = package_of(function);
    let map = "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"settings\"}}\n";
    let files = [("Kptfile", kptfile.as_str()), ("map.json", map)];
    let expected = "{\n  \"apiVersion\": \"v1\",\n  \"kind\": \"ConfigMap\",\n  \"metadata\": {\n    \"name\": \"null\"\n  }\n}\n";
    render_in_both_modes(&files, "map.json", expected);
}

const WITH_HEADER: &str = "\
# Licence

# about
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings
data:
  folded: >
    one

      indented

    two
";

#[test]
fn a_header_and_folded_text_stay_behind_two_functions() {
    let function = "set-annotations:v0.1.4\n    configMap:\n      owner: me\n  - image: set-namespace:v0.4.1\n    configMap:\n      namespace: prod";
    let kptfile = package_of(function);
    let files = [
        ("Kptfile", kptfile.as_str()),
        ("settings.yaml", WITH_HEADER),
    ];
    let test_env = TestEnvironment::new();
    for (path, text) in files {
        test_env.write(&format!("pkg/{path}"), text);
    }
    let ran = test_env.kiln(&["fn", "render", "pkg", "-o", "unwrap"], "");
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let name = "  name: settings\n";
    let more = "  annotations:\n    owner: me\n  namespace: prod\n";
    let expected = WITH_HEADER.replace(name, &format!("{name}{more}"));
    let documents = ran.stdout.split_once("---\n");
    assert_eq!(documents.map(|(_, last)| last), Some(expected.as_str()));
}

/// These functions pass all resources through text.
#[test]
fn folded_text_stays_behind_functions_that_rewrite_everything() {
    let text = "# Licence\n\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings} # flow\ndata:\n  folded: >\n    one\n      indented\n    two\n";
    for (function, argument) in [
        ("set-image:v0.1.0", "name=n newTag=x"),
        ("set-image:v0.1.1", "name=n newTag=x"),
        ("set-image:v0.1.2", "name=n newTag=x"),
        ("set-image:latest", "name=n newTag=x"),
        ("set-labels:v0.1.5", "a=b"),
        ("set-namespace:v0.1.4", "namespace=prod"),
        ("set-namespace:v0.2.0", "namespace=prod"),
    ] {
        let test_env = TestEnvironment::new();
        test_env.write("pkg/settings.yaml", text);
        let mut args = vec!["fn", "eval", "pkg", "--image", function, "--"];
        args.extend(argument.split_whitespace());
        let ran = test_env.kiln(&args, "");
        assert_eq!(ran.code, Some(0), "{function}: {ran:?}");
        let after = test_env.work().join("pkg/settings.yaml");
        let after = fs::read_to_string(after).expect("a file");
        let added = match function.split_once(':') {
            Some(("set-labels", _)) => ", labels: {a: b}",
            Some(("set-namespace", _)) => ", namespace: prod",
            _ => "",
        };
        let expected = text.replace("settings}", &format!("settings{added}}}"));
        assert_eq!(after, expected, "{function}");
    }
}

#[test]
fn what_has_no_annotations_gets_none() {
    let test_env = TestEnvironment::new();
    let list = LIST.split("functionConfig").next().unwrap_or_default();
    for mode in ["--compat=kiln", "--compat=kpt"] {
        let ran = test_env.kiln(&[mode, "fn", "eval", "-", "--image", "no-op"], list);
        assert_eq!(ran.code, Some(0), "{mode}: {ran:?}");
        assert_eq!(ran.stdout, list, "{mode}");
    }
}
