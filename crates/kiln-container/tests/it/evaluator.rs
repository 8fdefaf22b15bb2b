//! The calls of the engine, and the results of its output.

use std::time::{Duration, Instant};

use kiln_container::{CommandStyle, ContainerEvaluator, ContainerOptions};
use kiln_runtime::{
    CancelToken, Evaluator, FindError, FunctionSpec, Limits, Output, RunContext, RunError,
};

use crate::engine::{FakeEngine, VERSION, patient, run, within};

const EMPTY_LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";

const KPT_RUN: &str = "run|--rm|-i|--network|none|--user|nobody|--security-opt=no-new-privileges|\
                       --pull|missing|example.com/set-x:v1";

fn hanging() -> FakeEngine {
    let script = format!("{VERSION}case $1 in run) echo pulling >&2; sleep 100;; esac\n");
    FakeEngine::new("docker", &script)
}

/// Asserts that the container of the only run was killed and removed by its name.
#[track_caller]
fn assert_removed(engine: &FakeEngine) {
    let calls = engine.calls();
    let words: Vec<&str> = calls[1].split('|').collect();
    let name = words[4];
    assert!(name.starts_with("kiln-"), "{calls:?}");
    let cleared_up = [format!("kill|{name}"), format!("rm|--force|{name}")];
    assert_eq!(calls[2..], cleared_up);
}

#[test]
fn docker_is_checked_once_and_then_runs() {
    let script = format!("{VERSION}echo 'abc: Pull complete' >&2; echo talk >&2; cat; exit 3\n");
    let engine = FakeEngine::new("docker", &script);
    let evaluator = engine.evaluator(CommandStyle::Kpt);
    for _ in 0..2 {
        let outcome = run(&evaluator, &patient()).unwrap();
        assert_eq!(outcome.exit_code, 3);
        assert_eq!(outcome.stderr, b"talk");
        let Output::Wire(stdout) = outcome.output else {
            panic!("a process answers with text");
        };
        assert_eq!(String::from_utf8(stdout.into()).unwrap(), EMPTY_LIST);
    }
    let version = "version|--format|{{.Client.Version}}";
    assert_eq!(engine.calls(), [version, KPT_RUN, KPT_RUN]);
}

#[test]
fn other_engines_are_checked_simply() {
    for name in ["podman", "nerdctl"] {
        let engine = FakeEngine::new(name, "");
        run(&engine.evaluator(CommandStyle::Kpt), &patient()).unwrap();
        assert_eq!(engine.calls(), ["version", KPT_RUN]);
    }
}

#[test]
fn the_older_command_checks_nothing_and_filters_nothing() {
    let engine = FakeEngine::new("docker", "echo 'abc: Pull complete' >&2\n");
    let outcome = run(&engine.evaluator(CommandStyle::Legacy), &patient()).unwrap();
    assert_eq!(outcome.stderr, b"abc: Pull complete\n");
    let expected = "run|--rm|-i|-a|STDIN|-a|STDOUT|-a|STDERR|--network|none|--user|nobody|\
                    --security-opt=no-new-privileges|-e|LOG_TO_STDERR=true|-e|\
                    STRUCTURED_RESULTS=true|example.com/set-x:v1";
    assert_eq!(engine.calls(), [expected]);
}

#[test]
fn a_missing_engine_is_reported_with_a_hint() {
    for (name, expected) in [
        (
            "docker",
            "exec: \"docker\": executable file not found in $PATH\n\
             docker must be running to use this command\n\
             To install docker, follow the instructions at https://docs.docker.com/get-docker/.\n",
        ),
        (
            "podman",
            "exec: \"podman\": executable file not found in $PATH\n\
             podman must be installed.\n\
             To install podman, follow the instructions at https://podman.io/getting-started/installation.\n",
        ),
        (
            "nerdctl",
            "exec: \"nerdctl\": executable file not found in $PATH\n\
             nerdctl must be installed.\n\
             To install nerdctl, follow the instructions at https://github.com/containerd/nerdctl#install.\n",
        ),
        (
            "rkt",
            "unsupported runtime: \"rkt\" the runtime must be one of [docker podman nerdctl]",
        ),
    ] {
        let evaluator = ContainerEvaluator::new(ContainerOptions {
            engine: name.to_owned(),
            search_path: "/nowhere".into(),
            ..ContainerOptions::default()
        });
        for _ in 0..2 {
            let error = run(&evaluator, &patient()).unwrap_err();
            assert!(matches!(error, RunError::Unavailable(_)), "{error:?}");
            assert_eq!(error.to_string(), expected);
        }
    }
}

/// kpt's words are about docker, which the user may never have heard of.
#[test]
fn without_a_selected_engine_no_engine_is_to_blame() {
    let missing = FakeEngine::new("other", "");
    let error = run(&missing.any_evaluator(), &patient()).unwrap_err();
    assert_eq!(error.to_string(), "no container engine is available");
    let engine = FakeEngine::new("docker", "echo 'cannot connect to the daemon' >&2\nexit 1");
    let error = run(&engine.any_evaluator(), &patient()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "no container engine is available; docker: cannot connect to the daemon"
    );
}

#[test]
fn an_engine_that_fails_or_is_old_is_not_used() {
    for (script, expected) in [
        (
            "exit 1",
            "exit status 1\ndocker must be running to use this command\n",
        ),
        (
            "kill -9 $$",
            "signal: killed\ndocker must be running to use this command\n",
        ),
        (
            "exit 0",
            "docker reports no version\ndocker must be running",
        ),
        (
            "echo 19.03.1",
            "docker client version must be v20.10.0 or greater: found 19.03.1",
        ),
    ] {
        let engine = FakeEngine::new("docker", script);
        let error = run(&engine.evaluator(CommandStyle::Kpt), &patient()).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
        assert_eq!(engine.calls().len(), 1);
    }
}

#[test]
fn an_engine_that_hangs_is_given_up_after_five_seconds() {
    let engine = FakeEngine::new("podman", "sleep 100");
    let started = Instant::now();
    let error = run(&engine.evaluator(CommandStyle::Kpt), &patient()).unwrap_err();
    assert!(started.elapsed() >= Duration::from_secs(5));
    assert!(
        error
            .to_string()
            .starts_with("signal: killed\npodman must be"),
        "{error}"
    );
}

#[test]
fn a_container_is_removed_on_timeout() {
    let engine = hanging();
    let error = run(
        &engine.evaluator(CommandStyle::Kiln),
        &within(Duration::from_secs(5)),
    );
    let error = error.unwrap_err();
    assert!(matches!(error, RunError::TimedOut { .. }), "{error}");
    assert_removed(&engine);
}

/// Runs a function and cancels it as soon as the engine has recorded so many calls.
#[track_caller]
fn give_up_after(engine: &FakeEngine, style: CommandStyle, calls: usize) {
    let cancel = CancelToken::new();
    let ctx = RunContext {
        cancel: cancel.clone(),
        ..patient()
    };
    let evaluator = engine.evaluator(style);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(&evaluator, &ctx));
        while engine.calls().len() < calls {
            std::thread::yield_now();
        }
        cancel.cancel();
        let error = running.join().unwrap().unwrap_err();
        assert!(matches!(error, RunError::Cancelled), "{error}");
    });
}

#[test]
fn a_container_is_removed_on_cancellation() {
    let engine = hanging();
    give_up_after(&engine, CommandStyle::Kiln, 2);
    assert_removed(&engine);
}

#[test]
fn a_container_is_removed_when_it_wrote_too_much_or_lost_its_client() {
    for (behaviour, limit) in [("yes", 1000), ("kill -9 $$", 1000)] {
        let script = format!("{VERSION}case $1 in run) {behaviour};; esac\n");
        let engine = FakeEngine::new("docker", &script);
        let limits = Limits {
            max_output: limit,
            ..Limits::default()
        };
        let ctx = RunContext {
            limits,
            ..patient()
        };
        match run(&engine.evaluator(CommandStyle::Kiln), &ctx) {
            Err(RunError::OutputTooLarge { limit: 1000 }) => {}
            Ok(outcome) => assert_eq!(outcome.exit_code, -1),
            Err(error) => panic!("{error}"),
        }
        assert_removed(&engine);
    }
}

/// Whether the parent of the tests made them ignore interrupts, as shells do with background jobs. Scripts inherit that
/// and cannot undo it.
fn ignores_interrupts() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|ignored| u64::from_str_radix(ignored.trim(), 16).ok());
    // Signals are counted from 1, and the interrupt is the second.
    ignored.is_some_and(|ignored| ignored & 0b10 != 0)
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn a_container_without_a_name_is_interrupted() {
    if ignores_interrupts() {
        eprintln!("SKIPPED: interrupts are ignored here");
        return;
    }
    let script = format!(
        "{VERSION}trap 'echo interrupted >>$here/calls; exit' INT; echo listening >>$here/calls\n\
         while :; do sleep 0.1; done"
    );
    let engine = FakeEngine::new("docker", &script);
    give_up_after(&engine, CommandStyle::Kpt, 3);
    assert_eq!(engine.calls()[1..], [KPT_RUN, "listening", "interrupted"]);
}

#[test]
fn help_comes_from_the_image() {
    let script = format!("{VERSION}cat >/dev/null; echo usage; echo oops >&2; exit 2\n");
    let engine = FakeEngine::new("docker", &script);
    let evaluator = engine.evaluator(CommandStyle::Kpt);
    let finished = evaluator
        .help("example.com/x", EMPTY_LIST, &patient())
        .unwrap();
    assert_eq!(finished.stdout, b"usage\n");
    assert_eq!(finished.stderr, b"oops\n");
    assert_eq!(finished.exit_text(), "exit status 2");
    assert_eq!(engine.calls()[1], "run|--rm|-i|example.com/x|--help");
}

#[test]
fn local_tags_come_from_the_engine() {
    let engine = FakeEngine::new("podman", "printf 'v0.1\\r\\n\\n v0.2 \\n'\n");
    let evaluator = engine.evaluator(CommandStyle::Kpt);
    let tags = evaluator.local_tags("example.com/x", &patient()).unwrap();
    assert_eq!(tags, ["v0.1", "v0.2"]);
    let expected = "image|ls|--filter|reference=example.com/x|--format|{{ .Tag }}";
    assert_eq!(engine.calls(), [expected]);

    let engine = FakeEngine::new("docker", "echo oops >&2; exit 4\n");
    let evaluator = engine.evaluator(CommandStyle::Kpt);
    let error = evaluator
        .local_tags("example.com/x", &patient())
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "failed to list local tags using \"docker\": exit status 4; stderr: oops\n"
    );
}

#[test]
fn programs_are_not_found() {
    let evaluator = ContainerEvaluator::new(ContainerOptions::default());
    let error = evaluator.find(&FunctionSpec::exec("cat")).err().unwrap();
    assert!(matches!(error, FindError::NotFound { .. }));
}
