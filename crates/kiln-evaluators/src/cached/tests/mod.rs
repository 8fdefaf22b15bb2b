//! Which answers are kept, and which calls have the same key.

mod joined;
mod keys;
mod recorded;

use std::path::Path;
use std::sync::Mutex;

use bytes::Bytes;
use kiln_krm::Dialect;
use kiln_runtime::{FunctionIdentity, Limits, Output, StderrListener};
use kiln_store::ResultLimits;

use super::*;
use crate::ChainOptions;

/// A function whose answers the test sets.
struct Scripted {
    answer: Mutex<Scene>,
    runs: Mutex<usize>,
}

#[derive(Clone)]
struct Scene {
    exit_code: i32,
    stdout: String,
    stderr: String,
    /// What the function says it is before it runs; `None` if it is not reproducible.
    announced: Option<&'static str>,
    /// What the function says it is after it ran, if that is not the same.
    announced_then: Option<&'static str>,
    /// What the outcome says that ran.
    ran: Option<&'static str>,
    certainty: Certainty,
}

impl Default for Scene {
    fn default() -> Scene {
        Scene {
            exit_code: 0,
            stdout: LIST.to_owned(),
            stderr: String::new(),
            announced: Some("1"),
            announced_then: None,
            ran: Some("1"),
            certainty: Certainty::Guaranteed,
        }
    }
}

const LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";

struct Script(Arc<Scripted>);

impl Evaluator for Script {
    fn find(&self, _: &FunctionSpec) -> Result<Found, FindError> {
        Ok(Found::blocking(Script(Arc::clone(&self.0))))
    }
}

impl Runner for Script {
    fn run(&self, _: &Input<'_>, _: &RunContext) -> Result<Outcome, RunError> {
        *self.0.runs.lock().unwrap() += 1;
        let mut answer = self.0.answer.lock().unwrap();
        answer.announced = answer.announced_then.or(answer.announced);
        let scene = answer.clone();
        Ok(Outcome {
            exit_code: scene.exit_code,
            signal: None,
            output: Output::Wire(Bytes::from(scene.stdout)),
            stderr: scene.stderr.into_bytes(),
            elapsed: Duration::ZERO,
            identity: scene.ran.map(|hex| FunctionIdentity::wasm(hex, "wasi1")),
            is_cached: false,
        })
    }

    fn reproducible(&self, _: &RunContext) -> Option<ReproducibleCall> {
        let scene = self.0.answer.lock().unwrap().clone();
        Some(ReproducibleCall {
            certainty: scene.certainty,
            ..call(scene.announced?)
        })
    }
}

fn call(identity: &str) -> ReproducibleCall {
    ReproducibleCall {
        identity: FunctionIdentity::wasm(identity, "wasi1"),
        interface: "wasi1",
        platform: None,
        arguments: vec![b"fn".to_vec()],
        environment: Vec::new(),
        memory: Some(1 << 30),
        certainty: Certainty::Guaranteed,
    }
}

/// A function in a chain with kept answers.
struct Stage {
    function: Arc<Scripted>,
    runner: Arc<dyn Runner>,
    events: Arc<Mutex<Vec<String>>>,
}

fn stage(store: &Path, mode: CacheMode) -> Stage {
    let function = Arc::new(Scripted {
        answer: Mutex::default(),
        runs: Mutex::default(),
    });
    let events = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&events);
    let results = ResultCache::open(store, ResultLimits::default()).unwrap();
    let answers = AnswerCache::new(Arc::new(results), mode, move |event| {
        let event = match event {
            CacheEvent::Hit => "hit".to_owned(),
            CacheEvent::Miss => "miss".to_owned(),
            CacheEvent::Joined => "joined".to_owned(),
            CacheEvent::Differs { identity } => format!("differs {identity}"),
            CacheEvent::NotKept(_) => "not kept".to_owned(),
        };
        log.lock().unwrap().push(event);
    });
    let chain = ChainOptions {
        image: Some(Arc::new(Script(Arc::clone(&function)))),
        answers: Some(Arc::new(answers)),
        ..ChainOptions::default()
    };
    let found = chain.chain().find(&FunctionSpec::image("a.io/x:v1"));
    Stage {
        function,
        runner: found.unwrap().into_runner(),
        events,
    }
}

impl Stage {
    fn set(&self, scene: Scene) {
        *self.function.answer.lock().unwrap() = scene;
    }

    fn run(&self) -> Outcome {
        self.run_on("", &RunContext::default())
    }

    fn run_on(&self, name: &str, ctx: &RunContext) -> Outcome {
        let text = list(name);
        let input = Input::from_wire(Dialect::Current, &text);
        self.runner.run(&input, ctx).unwrap()
    }

    fn runs(&self) -> usize {
        *self.function.runs.lock().unwrap()
    }

    fn events(&self) -> Vec<String> {
        std::mem::take(&mut *self.events.lock().unwrap())
    }
}

fn list(name: &str) -> String {
    let item = format!("- apiVersion: v1\n  kind: Secret\n  metadata:\n    name: x{name}\n");
    format!("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n{item}")
}

fn stdout(outcome: &Outcome) -> &[u8] {
    match &outcome.output {
        Output::Wire(bytes) => bytes,
        Output::List(_) => panic!("a tree"),
    }
}

#[test]
fn the_same_call_runs_once() {
    let store = tempfile::tempdir().unwrap();
    let stage = stage(store.path(), CacheMode::Images);
    let scene = Scene {
        stdout: format!("{LIST}results:\n- message: careful\n  severity: warning\n"),
        stderr: "a line".to_owned(),
        ..Scene::default()
    };
    stage.set(scene.clone());
    let fresh = stage.run();
    let kept = stage.run();
    assert_eq!(stage.runs(), 1);
    assert_eq!(stage.events(), ["miss", "hit"]);
    assert_eq!((fresh.is_cached, kept.is_cached), (false, true));
    assert_eq!(stdout(&kept), scene.stdout.as_bytes());
    assert_eq!(kept.stderr, b"a line");
    assert_eq!(kept.exit_code, 0);
    assert_eq!(kept.identity, fresh.identity);
    // stderr is passed on as if the function ran.
    let heard: Arc<Mutex<Vec<u8>>> = Arc::default();
    let pieces = Arc::clone(&heard);
    let listener = StderrListener::new(move |piece| pieces.lock().unwrap().extend(piece));
    let ctx = RunContext {
        on_stderr: Some(listener),
        ..RunContext::default()
    };
    stage.run_on("", &ctx);
    assert_eq!(*heard.lock().unwrap(), b"a line");
    // Another input is another call.
    stage.run_on("other", &RunContext::default());
    assert_eq!(stage.runs(), 2);
}

#[track_caller]
fn check_not_kept(mode: CacheMode, scene: Scene) {
    let store = tempfile::tempdir().unwrap();
    let stage = stage(store.path(), mode);
    stage.set(scene);
    stage.run();
    assert!(!stage.run().is_cached);
    assert_eq!(stage.runs(), 2);
}

#[test]
fn answers_that_may_be_wrong_are_not_kept() {
    let images = |scene| check_not_kept(CacheMode::Images, scene);
    let scene = Scene::default;
    images(Scene {
        exit_code: 1,
        ..scene()
    });
    images(Scene {
        stdout: format!("{LIST}results:\n- message: wrong\n  severity: error\n"),
        ..scene()
    });
    images(Scene {
        stdout: "not: [a list".to_owned(),
        ..scene()
    });
    images(Scene {
        announced: None,
        ..scene()
    });
    // The function was replaced between the look-up and the run.
    images(Scene {
        ran: Some("2"),
        ..scene()
    });
    images(Scene {
        ran: None,
        ..scene()
    });
    check_not_kept(CacheMode::Off, scene());
    check_not_kept(CacheMode::On, scene());
    check_not_kept(
        CacheMode::On,
        Scene {
            certainty: Certainty::Assumed,
            ..scene()
        },
    );
}

/// For example an image for which the kernel refused namespaces.
#[test]
fn an_answer_is_not_kept_if_the_function_ran_in_another_way() {
    let store = tempfile::tempdir().unwrap();
    let stage = stage(store.path(), CacheMode::Images);
    stage.set(Scene {
        announced_then: Some("2"),
        ..Scene::default()
    });
    stage.run();
    stage.set(Scene::default());
    assert!(!stage.run().is_cached);
    assert!(stage.run().is_cached);
}

/// What the settings of a call say about its answer.
#[test]
fn a_call_can_decide_about_its_answer() {
    let check = |mode, answers, runs: usize| {
        let store = tempfile::tempdir().unwrap();
        let stage = stage(store.path(), mode);
        stage.set(Scene {
            certainty: Certainty::Assumed,
            ..Scene::default()
        });
        let ctx = RunContext {
            answers,
            ..RunContext::default()
        };
        stage.run_on("", &ctx);
        stage.run_on("", &ctx);
        assert_eq!(stage.runs(), runs, "{mode:?} {answers:?}");
    };
    check(CacheMode::On, KeepAnswers::Assumed, 1);
    check(CacheMode::On, KeepAnswers::AsConfigured, 2);
    check(CacheMode::Images, KeepAnswers::Never, 2);
    check(CacheMode::Off, KeepAnswers::Assumed, 2);
}

#[test]
fn an_answer_beyond_the_output_limit_is_not_used() {
    let store = tempfile::tempdir().unwrap();
    let stage = stage(store.path(), CacheMode::Images);
    stage.run();
    let ctx = RunContext {
        limits: Limits {
            max_output: 10,
            ..Limits::default()
        },
        ..RunContext::default()
    };
    assert!(!stage.run_on("", &ctx).is_cached);
    assert_eq!(stage.runs(), 2);
}

#[test]
fn a_function_that_answers_differently_is_found_out() {
    let store = tempfile::tempdir().unwrap();
    let verify = stage(store.path(), CacheMode::Verify);
    verify.run();
    verify.run();
    assert_eq!(verify.runs(), 2);
    assert_eq!(verify.events(), ["miss", "miss"]);
    verify.set(Scene {
        stderr: "the time is 12:00".to_owned(),
        ..Scene::default()
    });
    assert_eq!(verify.run().stderr, b"the time is 12:00");
    assert_eq!(verify.events(), ["miss", "differs wasm:sha256:1#wasi1"]);
    // From now on it runs each time, in every mode.
    let images = stage(store.path(), CacheMode::Images);
    images.run();
    images.run();
    assert_eq!(images.runs(), 2);
    assert!(images.events().is_empty());
    // A failure is another answer, too.
    let store = tempfile::tempdir().unwrap();
    let verify = stage(store.path(), CacheMode::Verify);
    verify.run();
    verify.set(Scene {
        exit_code: 1,
        ..Scene::default()
    });
    verify.run();
    assert_eq!(
        verify.events(),
        ["miss", "miss", "differs wasm:sha256:1#wasi1"]
    );
}

#[test]
fn a_directory_that_fails_is_reported_once_and_functions_run() {
    let store = tempfile::tempdir().unwrap();
    let stage = stage(store.path(), CacheMode::Images);
    // Files in the place of all directories.
    for shard in 0..=255 {
        let path = ResultCache::path(store.path()).join(format!("{shard:02x}"));
        std::fs::write(path, "").unwrap();
    }
    for _ in 0..3 {
        let outcome = stage.run();
        assert_eq!((outcome.exit_code, outcome.is_cached), (0, false));
        assert_eq!(stdout(&outcome), LIST.as_bytes());
    }
    assert_eq!(stage.events(), ["miss", "not kept", "miss", "miss"]);
}
