//! Functions that are images, run by a real engine.
//!
//! The variable `KILN_TEST_ENGINE` names it, and `tests/engine/up` sets it where it can start one; without it these tests are
//! skipped. Each builds its own image, so that its containers can be distinguished.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::Signal;

use crate::faults::skip;
use crate::live::Live;
use crate::test_environment::{Outcome, TestEnvironment, run};

const RESOURCE: &str =
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  value: old # kept\n";

/// What an engine may need besides `PATH`.
pub(crate) const VARIABLES: [&str; 3] = [
    "CONTAINERS_CONF",
    "CONTAINERS_STORAGE_CONF",
    "XDG_RUNTIME_DIR",
];

/// The reason for leaving out what needs an engine.
pub(crate) const MISSING: &str = "KILN_TEST_ENGINE is not set, see tests/engine/up";

/// The engine to be used in tests, if there is one.
pub(crate) fn name() -> Option<String> {
    let name = std::env::var("KILN_TEST_ENGINE").ok();
    name.filter(|name| !name.is_empty())
}

/// A package, an image, and the engine that runs it.
struct EngineTest {
    test_env: TestEnvironment,
    engine: String,
    image: String,
}

impl EngineTest {
    /// An image that runs a shell script; `None`, with a message, if there is no engine.
    fn new(test: &str, script: &str) -> Option<EngineTest> {
        let Some(engine) = name() else {
            skip(test, MISSING);
            return None;
        };
        let engine_test = EngineTest {
            test_env: TestEnvironment::new(),
            engine,
            image: format!("localhost/kiln/{test}:v1"),
        };
        engine_test.test_env.write("pkg/a.yaml", RESOURCE);
        let kptfile = format!(
            "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\npipeline:\n  mutators:\n    \
             - image: {}\n      selectors:\n        - kind: ConfigMap\n",
            engine_test.image
        );
        engine_test.test_env.write("pkg/Kptfile", &kptfile);
        let maker = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/engine/image");
        let mut command = engine_test.command(&maker.display().to_string());
        let made = run(
            command.arg(&engine_test.image),
            &format!("#!/bin/sh\n{script}\n"),
        );
        assert_eq!(made.code, Some(0), "{}", made.stderr);
        Some(engine_test)
    }

    fn command(&self, program: &str) -> Command {
        let mut command = self.test_env.command(program, &self.test_env.work());
        command.env("KRM_FN_RUNTIME", &self.engine);
        for name in VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    fn kiln(&self, words: &str) -> Outcome {
        run(&mut self.kiln_command(words), "")
    }

    /// `IMAGE` in the words is replaced by the image.
    fn kiln_command(&self, words: &str) -> Command {
        let mut command = self.command("kiln");
        let word = |word: &str| word.replace("IMAGE", &self.image);
        command.args(words.split(' ').map(word));
        command
    }

    fn resource(&self) -> String {
        fs::read_to_string(self.test_env.work().join("pkg/a.yaml")).expect("a file")
    }

    /// Asserts that no container of the image exists, running or not.
    #[track_caller]
    fn assert_no_container(&self) {
        let mut command = self.command(&self.engine);
        let filter = format!("ancestor={}", self.image);
        command.args(["ps", "--all", "--quiet", "--filter", &filter]);
        let listed = run(&mut command, "");
        assert_eq!((listed.code, listed.stdout.as_str()), (Some(0), ""));
    }
}

const EVAL: &str = "fn eval pkg --image IMAGE --match-kind ConfigMap";
const RENDER: &str = "fn render pkg";
const RUN: &str = "fn run pkg --image IMAGE";

#[test]
fn an_image_transforms_resources() {
    let script = "sed 's/value: old/value: new/'";
    let Some(engine_test) = EngineTest::new("transforms", script) else {
        return;
    };
    for words in [EVAL, RENDER, RUN] {
        engine_test.test_env.write("pkg/a.yaml", RESOURCE);
        let ran = engine_test.kiln(words);
        assert_eq!(ran.code, Some(0), "{words}: {}", ran.stderr);
        let wanted = RESOURCE.replace("old", "new");
        assert_eq!(engine_test.resource(), wanted, "{words}");
        engine_test.assert_no_container();
    }
}

#[test]
fn containers_run_without_privileges_network_and_our_variables() {
    let script = "(id -u; readlink /proc/self/ns/net; echo \"[$SECRET]\") >&2; cat";
    let Some(engine_test) = EngineTest::new("default", script) else {
        return;
    };
    let host = fs::read_link("/proc/self/ns/net").expect("a namespace");
    let host = host.display().to_string();
    let mut command = engine_test.kiln_command(EVAL);
    let ran = run(command.env("SECRET", "secret"), "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("65534\n"), "{}", ran.stderr);
    assert!(ran.stderr.contains("[]"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(&host), "{}", ran.stderr);

    // Each is there when it is asked for.
    let words = format!("{EVAL} --network --env SECRET --env OTHER=x --as-current-user");
    let mut command = engine_test.kiln_command(&words);
    let ran = run(command.env("SECRET", "secret"), "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains(&host), "{}", ran.stderr);
    assert!(ran.stderr.contains("[secret]"), "{}", ran.stderr);
    let us = rustix::process::getuid().as_raw();
    assert!(
        ran.stderr.contains(&format!("    {us}\n")),
        "{}",
        ran.stderr
    );

    let ran = engine_test.kiln(&format!("{RENDER} --allow-network"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains(&host), "{}", ran.stderr);
}

#[test]
fn what_is_mounted_is_seen_and_written_only_if_allowed() {
    let script = "cat /data/in >&2; echo out 2>/dev/null >/data/out || echo refused >&2; cat";
    let Some(engine_test) = EngineTest::new("mounts", script) else {
        return;
    };
    engine_test.test_env.write("data/in", "from outside\n");
    let data = engine_test.test_env.work().join("data");
    let mount = format!("type=bind,src={},dst=/data", data.display());
    let ran = engine_test.kiln(&format!("{EVAL} --as-current-user --mount {mount}"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("from outside"), "{}", ran.stderr);
    assert!(ran.stderr.contains("refused"), "{}", ran.stderr);
    assert!(!data.join("out").exists());
    let ran = engine_test.kiln(&format!("{EVAL} --as-current-user --mount {mount},rw=true"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert_eq!(
        fs::read_to_string(data.join("out")).expect("a file"),
        "out\n"
    );
}

#[test]
fn an_image_that_is_missing_is_named() {
    let Some(engine_test) = EngineTest::new("present", "cat") else {
        return;
    };
    // Nothing listens on that port, so that nothing can be pulled.
    let missing = "localhost:1/kiln/missing:v1";
    for policy in ["never", "IfNotPresent", "always"] {
        let words = format!("fn eval pkg --image {missing} --image-pull-policy {policy}");
        let ran = engine_test.kiln(&words);
        assert_eq!(ran.code, Some(1), "{policy}: {}", ran.stderr);
        assert!(ran.stderr.contains("Exit code: 125"), "{}", ran.stderr);
        let words = ran.stderr.matches(missing).count();
        assert!(words > 1, "the engine names it too: {}", ran.stderr);
    }
    // One that is there is not pulled, unless it has to be.
    assert_eq!(engine_test.kiln(EVAL).code, Some(0));
    let never = format!("{EVAL} --image-pull-policy never");
    assert_eq!(engine_test.kiln(&never).code, Some(0));
    let always = format!("{EVAL} --image-pull-policy always");
    assert_eq!(engine_test.kiln(&always).code, Some(1));
}

#[test]
fn a_failure_is_printed_with_results_and_stderr() {
    let script = "cat >/dev/null; echo 'oh no' >&2; cat <<'END'
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items: []
results:
- message: value must not be old
  severity: error
  file:
    path: a.yaml
END
exit 3";
    let Some(engine_test) = EngineTest::new("fails", script) else {
        return;
    };
    for words in [EVAL, RENDER] {
        let ran = engine_test.kiln(words);
        assert_eq!(ran.code, Some(1), "{words}: {}", ran.stderr);
        for wanted in ["[error]", "value must not be old", "oh no", "Exit code: 3"] {
            assert!(ran.stderr.contains(wanted), "{wanted}: {}", ran.stderr);
        }
        assert_eq!(engine_test.resource(), RESOURCE);
        engine_test.assert_no_container();
    }
}

#[test]
fn nothing_is_left_of_a_container_that_has_to_be_killed() {
    // It ignores SIGTERM.
    let script = "trap '' INT TERM HUP; echo started >&2; while :; do echo x; sleep 0.01; done";
    let Some(engine_test) = EngineTest::new("killed", script) else {
        return;
    };
    for words in [EVAL, RENDER, RUN] {
        let ran = engine_test.kiln(&format!("{words} --timeout 1500ms"));
        assert_eq!(ran.code, Some(1), "{words}: {}", ran.stderr);
        let message = "did not finish within 1.5s and was killed";
        assert!(ran.stderr.contains(message), "{words}: {}", ran.stderr);
        engine_test.assert_no_container();

        let ran = engine_test.kiln(&format!("{words} --max-output 64"));
        assert_eq!(ran.code, Some(1), "{words}: {}", ran.stderr);
        let message = "wrote more than 64 bytes and was killed";
        assert!(ran.stderr.contains(message), "{words}: {}", ran.stderr);
        engine_test.assert_no_container();
        assert_eq!(engine_test.resource(), RESOURCE, "{words}");
    }
}

#[test]
fn nothing_is_left_of_a_container_after_an_interrupt() {
    let script = "trap '' INT TERM HUP; echo >/data/started; while :; do sleep 0.1; done";
    let Some(engine_test) = EngineTest::new("interrupted", script) else {
        return;
    };
    let data = engine_test.test_env.work().join("data");
    let script = "mkdir data && mkfifo data/started";
    engine_test
        .test_env
        .shell(&engine_test.test_env.work(), script, &[]);
    let mount = format!("--mount type=bind,src={},dst=/data,rw=true", data.display());
    for words in [EVAL, RUN] {
        // `timeout` sends the signal twice; that is one request.
        for signals in [&[Signal::INT][..], &[Signal::TERM, Signal::TERM]] {
            let words = format!("{words} --as-current-user {mount}");
            let live = Live::start(&mut engine_test.kiln_command(&words));
            fs::read(data.join("started")).expect("the function runs");
            for signal in signals {
                live.signal(*signal);
            }
            let (code, printed) = live.end();
            assert!(matches!(code, Some(130 | 143)), "{code:?}: {printed}");
            engine_test.assert_no_container();
            assert_eq!(engine_test.resource(), RESOURCE, "{words}");
        }
    }
}

#[test]
fn much_goes_in_and_out_of_a_container() {
    let Some(engine_test) = EngineTest::new("much", "cat") else {
        return;
    };
    let long = RESOURCE.replace("old", &"x".repeat(8 << 20));
    engine_test.test_env.write("pkg/a.yaml", &long);
    for words in [EVAL, RENDER, RUN] {
        let ran = engine_test.kiln(words);
        assert_eq!(ran.code, Some(0), "{words}: {}", ran.stderr);
        assert!(engine_test.resource() == long, "{words}");
    }
}
