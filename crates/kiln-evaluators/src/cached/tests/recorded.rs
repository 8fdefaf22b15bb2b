//! Recorded calls of the catalog's functions, with and without kept answers.

use kiln_functions::NativeEvaluator;
use kiln_functions::registry::Registry;

use super::*;

/// Built-in functions as text, whose answers are kept as those of modules are.
struct Declared(NativeEvaluator);

struct DeclaredRunner {
    runner: Arc<dyn Runner>,
    identity: FunctionIdentity,
}

impl Evaluator for Declared {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let runner = self.0.find(function)?.into_runner();
        let identity = Registry::builtin().identity(function.name());
        Ok(Found::blocking(DeclaredRunner {
            runner,
            identity: identity.unwrap(),
        }))
    }
}

impl Runner for DeclaredRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        self.runner.run(input, ctx)
    }

    fn reproducible(&self, _: &RunContext) -> Option<ReproducibleCall> {
        Some(ReproducibleCall {
            identity: self.identity.clone(),
            ..call("")
        })
    }
}

/// For every recorded call of the catalog's functions: the kept answer is the fresh one, and failures are not kept.
#[test]
fn kept_is_fresh_for_recorded_calls() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kiln-functions/tests");
    let files = std::fs::read_dir(tests)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
    let recorded: Vec<String> = files
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let store = tempfile::tempdir().unwrap();
    let results = ResultCache::open(store.path(), ResultLimits::default()).unwrap();
    let answers = AnswerCache::new(Arc::new(results), CacheMode::Images, |_| {});
    let native = NativeEvaluator::through_the_wire(Registry::builtin());
    let chain = ChainOptions {
        image: Some(Arc::new(Declared(native))),
        answers: Some(Arc::new(answers)),
        ..ChainOptions::default()
    };
    let chain = chain.chain();
    let (mut kept, mut failed) = (0, 0);
    for line in recorded.iter().flat_map(|text| text.lines()) {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = |key: &str| value[key].as_str().unwrap();
        let image = format!("ghcr.io/kptdev/krm-functions-catalog/{}", text("function"));
        let Ok(found) = chain.find(&FunctionSpec::image(image)) else {
            continue;
        };
        let runner = found.into_runner();
        let run = || {
            let input = Input::from_wire(Dialect::Current, text("input"));
            runner.run(&input, &RunContext::default())
        };
        let (Ok(first), Ok(second)) = (run(), run()) else {
            continue;
        };
        assert_eq!(first.exit_code, second.exit_code);
        assert_eq!(stdout(&first), stdout(&second));
        assert_eq!(first.stderr, second.stderr);
        assert_eq!(first.identity, second.identity);
        assert!(second.is_cached || !first.is_cached);
        match first.exit_code {
            0 => kept += usize::from(second.is_cached),
            _ => {
                assert!(!second.is_cached);
                failed += 1;
            }
        }
    }
    assert!(kept > 100 && failed > 0, "{kept} kept, {failed} failed");
}
