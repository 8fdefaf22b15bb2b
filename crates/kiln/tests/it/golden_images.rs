//! What kpt's cases that need an engine record (`image-pull-policy-*`, `missing-fn-image`, `no-image-pull`, `function-env`), with
//! images that kiln pulls from a registry in this process and runs itself.

use crate::busybox::busybox_image;
use crate::faults::skip;
use crate::store_registry::TestRegistry;
use crate::test_environment::{Outcome, TestEnvironment, run};

const RESOURCE: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

/// A package, and a registry with the images of the cases.
struct GoldenImages {
    test_env: TestEnvironment,
    registry: TestRegistry,
}

impl GoldenImages {
    /// `None`, with a message, if images cannot be built or run here.
    fn new(test: &str) -> Option<GoldenImages> {
        let made = GoldenImages {
            test_env: TestEnvironment::new(),
            registry: TestRegistry::start(),
        };
        if !made.push("foo", "echo foo >&2; exit 1") {
            skip(test, "no static busybox");
            return None;
        }
        made.test_env.write("pkg/a.yaml", RESOURCE);
        let image = made.image("foo");
        let kptfile = format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: app\npipeline:\n  mutators:\n    - image: {image}\n"
        );
        made.test_env.write("pkg/Kptfile", &kptfile);
        let ran = made.eval("foo", "IfNotPresent");
        if ran.stderr.contains("cannot isolate") {
            skip(test, "this system does not allow namespaces");
            return None;
        }
        Some(made)
    }

    /// Adds an image that runs a script, in place of the one that the tag had.
    fn push(&self, name: &str, script: &str) -> bool {
        let words = ["/bin/busybox", "sh", "-c", script];
        let Some((layout, root)) = busybox_image(&words, script) else {
            return false;
        };
        let name = format!("catalog/{name}:latest");
        self.registry.add(&name, &layout, &root);
        true
    }

    fn image(&self, name: &str) -> String {
        format!("{}/catalog/{name}:latest", self.registry.host)
    }

    fn kiln(&self, words: &[&str]) -> Outcome {
        let mut command = self.test_env.command("kiln", &self.test_env.work());
        command.args(words).arg("--image-runtime=namespaces");
        run(command.env("EXPORT_ENV", "export_env_value"), "")
    }

    fn eval(&self, name: &str, policy: &str) -> Outcome {
        let image = self.image(name);
        let policy = format!("--image-pull-policy={policy}");
        self.kiln(&[
            "fn",
            "eval",
            "pkg",
            "--image",
            &image,
            &policy,
            "--env=EXPORT_ENV",
        ])
    }

    fn render(&self, policy: &str) -> Outcome {
        let policy = format!("--image-pull-policy={policy}");
        self.kiln(&["fn", "render", "pkg", &policy])
    }
}

#[track_caller]
fn check_fails(ran: &Outcome, text: &str) {
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.stderr.contains(text), "{text}: {ran:?}");
}

#[test]
fn policies_decide_which_image_of_a_tag_runs() {
    let Some(test) = GoldenImages::new("policies") else {
        return;
    };
    // The tag moves; only a pull notices.
    assert!(test.push("foo", "echo bar >&2; exit 1"));
    check_fails(&test.eval("foo", "IfNotPresent"), "    foo\n");
    check_fails(&test.render("Never"), "    foo\n");
    check_fails(&test.render("IfNotPresent"), "    foo\n");
    check_fails(&test.render("Always"), "    bar\n");
    check_fails(&test.eval("foo", "Never"), "    bar\n");
}

#[test]
fn images_that_do_not_exist_are_named() {
    let Some(test) = GoldenImages::new("missing") else {
        return;
    };
    let ran = test.eval("not-exist", "Never");
    check_fails(&ran, "is not in the store, and the pull policy is Never");
    // What the case of kpt expects of any engine.
    check_fails(&ran, "No such image");
    check_fails(&test.eval("dne", "IfNotPresent"), "is not in the registry");
}

#[test]
fn variables_are_exported_to_images() {
    let Some(test) = GoldenImages::new("variables") else {
        return;
    };
    assert!(test.push("printenv", "echo EXPORT_ENV=$EXPORT_ENV >&2; exit 1"));
    let ran = test.eval("printenv", "IfNotPresent");
    check_fails(&ran, "EXPORT_ENV=export_env_value");
}

#[test]
fn an_image_that_is_present_is_not_pulled() {
    let Some(test) = GoldenImages::new("present") else {
        return;
    };
    assert!(test.push("no-op", "cat"));
    assert_eq!(test.eval("no-op", "IfNotPresent").code, Some(0));
    test.registry.go_away();
    let ran = test.eval("no-op", "IfNotPresent");
    assert_eq!((ran.code, ran.stderr.contains("WARN")), (Some(0), false));
}
