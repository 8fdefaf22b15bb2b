//! Native functions in pipelines.

use std::time::{Duration, Instant};

use kiln_functions::registry::{FunctionInfo, FunctionVersion, Registry};
use kiln_functions::sdk::Sdk;
use kiln_functions::{Context, Ending, Function, FunctionList, NativeEvaluator};
use kiln_krm::read::read_input;
use kiln_krm::{Dialect, ResourceList, Wrapper, write_list};
use kiln_runtime::{
    CancelToken, Deadline, Evaluator, FindError, FunctionSpec, Input, Outcome, Output, RunContext,
    RunError,
};

struct Panics;

impl Function for Panics {
    fn run(&self, list: &mut FunctionList, _: &Context<'_>) -> Ending {
        panic!("on {} items", list.items.len());
    }
}

/// Works until it is stopped.
struct Endless;

impl Function for Endless {
    fn run(&self, _: &mut FunctionList, ctx: &Context<'_>) -> Ending {
        loop {
            if let Err(stopped) = ctx.check() {
                return stopped.into();
            }
        }
    }
}

static OURS: Registry = Registry::new(&[
    &FunctionInfo {
        name: "panics",
        former_names: &[],
        summary: "Panics",
        doc: "Panics.",
        versions: &[FunctionVersion::new(&["latest"], Sdk::Go, &Panics)],
    },
    &FunctionInfo {
        name: "endless",
        former_names: &[],
        summary: "Never ends",
        doc: "Never ends.",
        versions: &[FunctionVersion::new(&["latest"], Sdk::Go, &Endless)],
    },
]);

const LIST: &str = "\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: Service
  metadata:
    name: b # kept
- apiVersion: apps/v1
  kind: Deployment
  metadata: {name: a, namespace: 'old'}
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: config}
  data: {namespace: prod}
";

fn run(runtime: &NativeEvaluator, image: &str, ctx: &RunContext) -> Result<Outcome, RunError> {
    let list = read_input(LIST.as_bytes().to_vec(), Dialect::Current).unwrap();
    let input = Input::new(Dialect::Current, &list.items, list.function_config.as_ref());
    let runner = runtime
        .find(&FunctionSpec::image(image))
        .unwrap()
        .into_runner();
    runner.run(&input, ctx)
}

fn text(output: Output) -> String {
    match output {
        Output::Wire(bytes) => String::from_utf8(bytes.into()).unwrap(),
        Output::List(ResourceList { items, results, .. }) => {
            let wrapper = Wrapper::resource_list(Dialect::Current);
            write_list(&wrapper, &items, None, results.as_ref())
        }
    }
}

#[test]
fn a_panic_is_the_failure_of_its_function() {
    for runtime in [
        NativeEvaluator::new(&OURS),
        NativeEvaluator::through_the_wire(&OURS),
    ] {
        let outcome = run(&runtime, "panics", &RunContext::default()).unwrap();
        assert_eq!(outcome.exit_code, 1);
        assert_eq!(
            outcome.stderr_text(),
            "KRM function panicked with: on 2 items"
        );
    }
}

#[test]
fn what_takes_too_long_is_stopped() {
    let runtime = NativeEvaluator::new(&OURS);
    let timeout = Duration::from_millis(1);
    let late = RunContext {
        deadline: Some(Deadline {
            at: Instant::now(),
            timeout,
        }),
        ..RunContext::default()
    };
    let error = run(&runtime, "endless", &late).unwrap_err();
    assert!(
        matches!(error, RunError::TimedOut { timeout: t, .. } if t == timeout),
        "{error}"
    );

    let cancel = CancelToken::new();
    cancel.cancel();
    let given_up = RunContext {
        cancel,
        ..RunContext::default()
    };
    let error = run(&runtime, "endless", &given_up).unwrap_err();
    assert!(matches!(error, RunError::Cancelled), "{error}");
}

#[test]
fn trees_and_text_give_the_same() {
    let registry = Registry::builtin();
    let image = "gcr.io/kpt-fn/set-namespace:v0.4.1";
    let ctx = RunContext::default();
    let on_trees = run(&NativeEvaluator::new(registry), image, &ctx).unwrap();
    let on_text = run(&NativeEvaluator::through_the_wire(registry), image, &ctx).unwrap();
    let (on_trees, on_text) = (text(on_trees.output), text(on_text.output));
    let items = |list: &str| {
        list.split("functionConfig:")
            .next()
            .unwrap()
            .split("results:")
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(items(&on_trees), items(&on_text));
    assert!(on_trees.contains("name: b # kept\n"), "{on_trees}");
    assert_eq!(on_trees.matches("namespace: prod").count(), 2);
}

#[test]
fn what_is_not_known_is_left_to_others() {
    let runtime = NativeEvaluator::new(Registry::builtin());
    for function in [
        FunctionSpec::image("example.com/set-namespace:v0.4.1"),
        FunctionSpec::image("gcr.io/kpt-fn/set-namespace:v9.9.9"),
        FunctionSpec::exec("set-namespace"),
    ] {
        let error = runtime.find(&function).err();
        assert!(
            matches!(error, Some(FindError::NotFound { .. })),
            "{error:?}"
        );
    }
}
