//! Which evaluators of a chain may run a function.

use std::path::Path;
use std::sync::Mutex;

use kiln_exec::ExecEvaluator;
use kiln_krm::Dialect;
use kiln_oci::{PullPolicy, RegistryOptions};
use kiln_policy::{LoadedPolicy, PolicyPaths, PolicyRefusal};
use kiln_runtime::{EvaluatorChain, Network, Output};

use super::*;
use crate::{ChainOptions, ExecOptions, NativeOptions, VerifierOptions};

/// Finds every image, and keeps the name and the context of the last call.
#[derive(Default)]
struct Recorder {
    found: Mutex<String>,
    ran: Mutex<Option<RunContext>>,
}

struct Recording(Arc<Recorder>);

impl Evaluator for Recording {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        if !matches!(function.target, Target::Image(_)) {
            return Err(FindError::not_found(function));
        }
        *self.0.found.lock().unwrap() = function.name().to_owned();
        Ok(Found::blocking(Recording(Arc::clone(&self.0))))
    }
}

impl Runner for Recording {
    fn run(&self, _: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        *self.0.ran.lock().unwrap() = Some(ctx.clone());
        Ok(Outcome {
            exit_code: 0,
            signal: None,
            output: Output::Wire(Bytes::new()),
            stderr: Vec::new(),
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        })
    }
}

fn policy(directory: &Path, text: &str) -> Arc<PolicyGuard> {
    let file = directory.join("policy.yaml");
    std::fs::write(&file, text).unwrap();
    let paths = PolicyPaths {
        system: file,
        given: None,
        user: None,
    };
    let policy = LoadedPolicy::load(&paths, |_| {}).unwrap().unwrap();
    let options = VerifierOptions {
        store: None,
        registry: RegistryOptions::default(),
        pull_policy: PullPolicy::Never,
    };
    Arc::new(PolicyGuard::new(policy, options))
}

fn options(policy: Arc<PolicyGuard>, engine: &Arc<Recorder>) -> ChainOptions {
    let evaluator =
        || -> Option<Arc<dyn Evaluator>> { Some(Arc::new(Recording(Arc::clone(engine)))) };
    ChainOptions {
        exec: Some(ExecOptions {
            programs: ExecEvaluator::new("/bin"),
            table: None,
        }),
        native: Some(NativeOptions::default()),
        image: evaluator(),
        container: evaluator(),
        policy: Some(policy),
        ..ChainOptions::default()
    }
}

/// The evaluator that runs a function, or the reason of the refusal.
fn search(chain: &EvaluatorChain, function: &FunctionSpec) -> String {
    match chain.search(function) {
        Ok((search, _)) => search.evaluator().to_owned(),
        Err(FindError::Denied(error)) => {
            let refusal = error.downcast_ref::<PolicyRefusal>();
            refusal.map_or_else(|| error.to_string(), |refusal| refusal.reason.to_string())
        }
        Err(error) => error.to_string(),
    }
}

const CATALOG: &str = "ghcr.io/kptdev/krm-functions-catalog";

#[test]
fn ways_that_are_not_allowed_are_skipped() {
    let directory = tempfile::tempdir().unwrap();
    let rules = format!(
        "version: 1\ndefault: deny\nrules:\n- match: {CATALOG}/\n  allow: [native]\n- match: a.io/\n  allow: [engine]\n\
         - match: {CATALOG}/set-labels\n  allow: [image]\n- match: b.io/\n  network: deny\nexec: deny\nstarlark: deny\n"
    );
    let chain = options(policy(directory.path(), &rules), &Arc::default()).chain();
    let catalog = |name: &str| FunctionSpec::image(format!("{CATALOG}/{name}"));
    assert_eq!(search(&chain, &catalog("set-namespace:v0.4.1")), "native");
    assert_eq!(search(&chain, &catalog("set-labels:v0.2.0")), "image");
    assert_eq!(
        search(&chain, &FunctionSpec::image("a.io/x:v1")),
        "container"
    );
    assert_eq!(
        search(&chain, &catalog("unknown:v1")),
        format!("rule \"{CATALOG}/\" allows only these ways to run it: native")
    );
    assert_eq!(
        search(&chain, &catalog("starlark:v0.5.0")),
        "Starlark scripts are denied"
    );
    assert_eq!(
        search(&chain, &FunctionSpec::exec("cat")),
        "programs are denied"
    );
    let program = FunctionSpec::new(Target::Program("/bin/cat".to_owned()));
    assert_eq!(search(&chain, &program), "programs are denied");
    let network = FunctionSpec {
        network: Network::Host,
        ..FunctionSpec::image("b.io/x")
    };
    assert_eq!(
        search(&chain, &network),
        "rule \"b.io/\" denies the network"
    );
    assert_eq!(
        search(&chain, &FunctionSpec::image("c.io/x")),
        "no rule matches, and the default is deny"
    );
}

#[test]
fn short_names_are_matched_with_their_prefix() {
    let directory = tempfile::tempdir().unwrap();
    let rules = "version: 1\ndefault: allow\nrules:\n- match: p.io/fns/x\n  allow: []\n";
    let chain = ChainOptions {
        image_prefix: Some("p.io/fns".to_owned()),
        ..options(policy(directory.path(), rules), &Arc::default())
    };
    let chain = chain.chain();
    for name in ["x", "x:v1", "p.io/fns/x:v1", "P.io:443/fns/x"] {
        let refused = search(&chain, &FunctionSpec::image(name));
        assert_eq!(
            refused, "rule \"p.io/fns/x\" allows no way to run it",
            "{name}"
        );
    }
    assert_eq!(search(&chain, &FunctionSpec::image("y:v1")), "image");
}

#[test]
fn an_engine_gets_the_name_that_was_decided_about() {
    let directory = tempfile::tempdir().unwrap();
    let rules = "version: 1\ndefault: deny\nrules:\n- match: docker.io/\n  allow: [engine]\n";
    let recorder = Arc::default();
    let chain = options(policy(directory.path(), rules), &recorder).chain();
    assert_eq!(search(&chain, &FunctionSpec::image("cafe")), "container");
    assert_eq!(
        *recorder.found.lock().unwrap(),
        "docker.io/library/cafe:latest"
    );
}

#[test]
fn limits_are_lowered_and_never_raised() {
    let directory = tempfile::tempdir().unwrap();
    let rules = "version: 1\ndefault: deny\nrules:\n- match: a.io/\n  max: {time: 1h, memory: 1Ki}\n  cache: deny\n";
    let recorder = Arc::default();
    let chain = options(policy(directory.path(), rules), &recorder).chain();
    let found = chain.find(&FunctionSpec::image("a.io/x:v1")).unwrap();
    assert_eq!(found.max_time(), Some(Duration::from_secs(3600)));
    let runner = found.into_runner();
    let input = Input::new(Dialect::Current, &[], None);
    let run = |ctx: &RunContext| {
        runner.run(&input, ctx).unwrap();
        let ran = recorder.ran.lock().unwrap().take().unwrap();
        assert_eq!(ran.answers, KeepAnswers::Never);
        (ran.deadline.map(|it| it.timeout), ran.limits.memory)
    };
    let hour = Duration::from_secs(3600);
    assert_eq!(run(&RunContext::default()), (Some(hour), Some(1024)));
    let minute = Duration::from_secs(60);
    let ctx = RunContext {
        deadline: Deadline::after(minute),
        limits: Limits {
            memory: Some(512),
            ..Limits::default()
        },
        ..RunContext::default()
    };
    assert_eq!(run(&ctx), (Some(minute), Some(512)));
}
