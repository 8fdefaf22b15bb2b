//! Ranges of versions in a Kptfile: where versions are looked up, and which is selected.

use std::fs;

use crate::package_images::registry::TestRegistry;
use crate::test_environment::{Outcome, TestEnvironment, run};

/// An engine that has some tags of an image, and prints the image that it runs.
const ENGINE: &str = "#!/bin/sh
here=$(dirname \"$0\")
case \"$1\" in
version) echo 99.0.0 ;;
image) cat \"$here/tags\" ;;
run) for image; do :; done; echo \"$image\" >>\"$here/ran\"; cat ;;
esac
";

/// A package with a function of some image and range, and an engine.
fn test_env(image: &str, range: &str, local: &str) -> TestEnvironment {
    let test_env = TestEnvironment::new();
    let kptfile = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n  - image: {image}\n    tag: '{range}'\n"
    );
    test_env.write("pkg/Kptfile", &kptfile);
    test_env.write("../bin/tags", local);
    test_env.write_program("../bin/docker", ENGINE);
    test_env
}

fn render(test_env: &TestEnvironment, flags: &[&str]) -> Outcome {
    let mut command = test_env.command("kiln", &test_env.work());
    let words = [&["fn", "render", "pkg"], flags].concat();
    run(
        command.args(words).env("DOCKER_CONFIG", test_env.work()),
        "",
    )
}

/// What the engine ran.
fn ran(test_env: &TestEnvironment) -> String {
    let ran = fs::read_to_string(test_env.bin().join("ran"));
    ran.unwrap_or_default().trim().to_owned()
}

fn registry(tags: &str) -> TestRegistry {
    let registry = TestRegistry::scripted();
    let body = format!("{{\"name\":\"team/fn\",\"tags\":{tags}}}");
    registry.say("/v2/team/fn/tags/list", "application/json", &body);
    registry
}

const TAGS: &str =
    r#"["latest","v1.0.0","v1.2.0","v1.3.0-rc1","sha256-0a.sig","v1.9.0-git-abc","v2.0.0"]"#;

#[test]
fn the_registry_is_asked_for_versions() {
    let registry = registry(TAGS);
    let image = format!("{}/team/fn", registry.host);
    for (range, local, best) in [
        ("~1", "", "v1.2.0"),
        (">=1, <3", "", "v2.0.0"),
        ("^1", "v1.1.0\nv1.5.0\n<none>\n", "v1.5.0"),
        ("^1", "v1.1.0\n", "v1.2.0"),
        ("1.0 - 1.1", "", "v1.0.0"),
    ] {
        let test_env = test_env(&image, range, local);
        let rendered = render(&test_env, &[]);
        assert_eq!(rendered.code, Some(0), "{rendered:?}");
        assert_eq!(ran(&test_env), format!("{image}:{best}"), "{range}");
        let kptfile = fs::read_to_string(test_env.work().join("pkg/Kptfile")).expect("a file");
        assert!(
            kptfile.contains(&format!("image: {image}:{best}")),
            "{kptfile}"
        );
    }
}

#[test]
fn a_missing_version_is_reported() {
    let registry = registry(TAGS);
    let image = format!("{}/team/fn", registry.host);
    let none = render(&test_env(&image, "~3", ""), &[]);
    assert_eq!(none.code, Some(1));
    let printed = "no tag could be found matching the version constraint \"~3\"";
    assert!(none.stderr.contains(printed), "{none:?}");
    assert!(none.stderr.contains("use an existing version"), "{none:?}");
    let missing = format!("{}/team/other", registry.host);
    let missing = render(&test_env(&missing, "~1", ""), &[]);
    assert!(
        missing.stderr.contains(printed.trim_end_matches("\"~3\"")),
        "{missing:?}"
    );
    assert!(
        missing.stderr.contains("is not in the registry"),
        "{missing:?}"
    );
    // kpt prints no hint.
    let kpt = render(&test_env(&image, "~3", ""), &["--compat=kpt"]);
    assert!(
        kpt.stderr.contains(printed) && !kpt.stderr.contains("hint"),
        "{kpt:?}"
    );
}

#[test]
fn without_the_registry_there_is_what_is_here() {
    // Nothing listens there.
    let image = "127.0.0.1:1/team/fn";
    let away = test_env(image, "^1", "v1.1.0\n");
    let rendered = render(&away, &[]);
    assert_eq!(rendered.code, Some(0), "{rendered:?}");
    assert_eq!(ran(&away), format!("{image}:v1.1.0"));
    // Without pulling, tags in the registry are of no use.
    let registry = registry(TAGS);
    let image = format!("{}/team/fn", registry.host);
    let never = test_env(&image, "^1", "v1.1.0\n");
    let rendered = render(&never, &["--image-pull-policy=Never"]);
    assert_eq!(rendered.code, Some(0), "{rendered:?}");
    assert_eq!(ran(&never), format!("{image}:v1.1.0"));
}

#[test]
fn built_in_versions_need_neither_engine_nor_registry() {
    let test_env = test_env("set-labels", "~0.2", "v0.2.9\n");
    test_env.write(
        "pkg/config.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c\n",
    );
    let kptfile = fs::read_to_string(test_env.work().join("pkg/Kptfile")).expect("a file");
    test_env.write(
        "pkg/Kptfile",
        &format!("{kptfile}    configMap:\n      a: b\n"),
    );
    let rendered = render(&test_env, &[]);
    assert_eq!(rendered.code, Some(0), "{rendered:?}");
    assert_eq!(ran(&test_env), "");
    assert!(
        rendered.stderr.contains("set-labels:v0.2.5"),
        "{rendered:?}"
    );
}
