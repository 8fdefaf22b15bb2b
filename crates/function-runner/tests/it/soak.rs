//! Hostile and good calls mixed, for a while: every good call succeeds, and the runner stays small.
//!
//! Ten minutes: `KILN_SOAK_SECONDS=600 cargo test -p function-runner --test it soak`.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use kiln_proto::evaluator::EvaluateFunctionRequest;
use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tonic::{Code, Request};

use crate::load::resident;
use crate::program::{CAT, LIST, RunnerFiles};

/// How long, unless the environment asks for more.
const SECONDS: u64 = 10;

const SLEEP: &str = "sleep:latest";

/// The runner itself; workers have their own limits.
const MAX_RESIDENT: u64 = 200_000;

const HOSTILE_CLIENTS: usize = 6;
const GOOD_CLIENTS: usize = 4;

/// Calls of one connection that sleep until the end: more than there are slots for slow calls on two cores.
const SLEEPERS: usize = 40;

/// Much longer than a good call takes, and shorter than the sleepers sleep.
const PATIENCE: Duration = Duration::from_secs(120);

fn config(kind: &str, api_version: &str, fields: &str) -> String {
    let items = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n";
    let head = format!("functionConfig:\n  apiVersion: {api_version}\n  kind: {kind}\n");
    format!("{items}{ITEM}{head}  metadata:\n    name: hostile\n{fields}")
}

const ITEM: &str =
    "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n  data:\n    k: v\n";

fn starlark(lines: &[&str]) -> (&'static str, String) {
    let source: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    let list = config(
        "StarlarkRun",
        "fn.kpt.dev/v1alpha1",
        &format!("  source: |\n{source}"),
    );
    ("starlark:v0.5.0", list)
}

fn rego(body: &str) -> (&'static str, String) {
    let template = format!(
        "- apiVersion: templates.gatekeeper.sh/v1beta1\n  kind: ConstraintTemplate\n  metadata:\n    name: hostile\n  \
         spec:\n    crd:\n      spec:\n        names:\n          kind: Hostile\n    targets:\n    - target: \
         admission.k8s.gatekeeper.sh\n      rego: |\n        package hostile\n        {body}\n\
         - apiVersion: constraints.gatekeeper.sh/v1beta1\n  kind: Hostile\n  metadata:\n    name: h\n  spec: {{}}\n"
    );
    let list = LIST.split("functionConfig:").next().unwrap_or_default();
    ("gatekeeper:v0.2.2", format!("{list}{template}"))
}

/// Values so large and so many that the answer would have gigabytes.
fn blow_up() -> String {
    let mut list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n".to_owned();
    for number in 0..1000 {
        let _ = write!(
            list,
            "- apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c{number}\n"
        );
    }
    let value = "v".repeat(300_000);
    let _ = write!(
        list,
        "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: c\n  data:\n    key: {value}\n"
    );
    list
}

fn hostile() -> Vec<(&'static str, String)> {
    let nested = ["a=['lol']*10"].into_iter().chain(["a=[a]*10"; 12]);
    let nested: Vec<&str> = nested.collect();
    let with = |last: &'static str| {
        let mut lines = nested.clone();
        lines.push(last);
        starlark(&lines)
    };
    vec![
        with("ctx.resource_list['items'][0]['data'] = {'k': a}"),
        with("str(a)"),
        with("{tuple(a): 1}"),
        starlark(&[
            "def f():",
            "  for i in range(1000000000):",
            "    print('x' * 100)",
            "f()",
        ]),
        starlark(&["v = 'v' * 100000000", "w = [v + str(i) for i in range(60)]"]),
        starlark(&["fail('v' * 500000000)"]),
        rego("f(x) = y { y := f(x+1) }\n        violation[{\"msg\": \"m\"}] { f(1) > 2 }"),
        rego("violation[{\"msg\": \"m\"}] { count(numbers.range(1, 1000000000)) > 2 }"),
        rego("violation[{\"msg\": \"m\"}] { product(numbers.range(1, 200000)) > 2 }"),
        rego("violation[{\"msg\": \"m\"}] { count(net.cidr_expand(\"0.0.0.0/0\")) > 2 }"),
        ("set-labels:v0.2.0", blow_up()),
        ("set-annotations:v0.1.4", blow_up()),
        (SLEEP, sleep_list()),
    ]
}

fn sleep_list() -> String {
    LIST.replace("namespace: there", "sleepSeconds: \"3600\"")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn good_calls_succeed_next_to_hostile_ones() {
    let seconds = std::env::var("KILN_SOAK_SECONDS").ok();
    let seconds = seconds
        .and_then(|text| text.parse().ok())
        .unwrap_or(SECONDS);
    let files = RunnerFiles::new();
    let runner = files.start(&["--disable-runtimes=pod", "--log-level=1"]);
    let id = runner.child.id();
    let is_over = Arc::new(AtomicBool::new(false));
    let good_calls = Arc::new(AtomicUsize::new(0));
    let hostile = Arc::new(hostile());
    let mut clients = JoinSet::new();
    let mut sleepers = JoinSet::new();
    let sleeper = FunctionEvaluatorClient::new(runner.channel().await);
    for _ in 0..SLEEPERS {
        let mut sleeper = sleeper.clone();
        sleepers.spawn(async move {
            let request = EvaluateFunctionRequest {
                resource_list: sleep_list().into(),
                image: SLEEP.to_owned(),
            };
            sleeper.evaluate_function(request).await
        });
    }
    for number in 0..HOSTILE_CLIENTS {
        let mut client = FunctionEvaluatorClient::new(runner.channel().await);
        let (hostile, is_over) = (Arc::clone(&hostile), Arc::clone(&is_over));
        clients.spawn(async move {
            for (image, list) in hostile.iter().cycle().skip(number * 2) {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let mut request = Request::new(EvaluateFunctionRequest {
                    resource_list: list.clone().into(),
                    image: (*image).to_owned(),
                });
                request.set_timeout(Duration::from_secs(2));
                // It fails in some way, but never because the runner is gone.
                let ended = client.evaluate_function(request).await;
                let code = ended.map_or_else(|status| status.code(), |_| Code::Ok);
                assert!(
                    !matches!(code, Code::Unavailable | Code::NotFound),
                    "{image}: {code:?}"
                );
            }
        });
    }
    for _ in 0..GOOD_CLIENTS {
        let mut client = FunctionEvaluatorClient::new(runner.channel().await);
        let (good_calls, is_over) = (Arc::clone(&good_calls), Arc::clone(&is_over));
        clients.spawn(async move {
            let images = ["set-namespace:v0.4.1", CAT, "set-labels:v0.2.0"];
            for image in images.into_iter().cycle() {
                if is_over.load(Ordering::Relaxed) {
                    break;
                }
                let request = EvaluateFunctionRequest {
                    resource_list: LIST.into(),
                    image: image.to_owned(),
                };
                let mut request = Request::new(request);
                request.set_timeout(PATIENCE);
                let answered = client.evaluate_function(request).await;
                answered.unwrap_or_else(|status| panic!("{image}: {status:?}"));
                good_calls.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut largest = 0;
    while Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(50)).await;
        largest = largest.max(resident(id));
    }
    is_over.store(true, Ordering::Relaxed);
    clients.join_all().await;
    sleepers.abort_all();
    let calls = good_calls.load(Ordering::Relaxed);
    assert!(calls > 0);
    assert!(largest < MAX_RESIDENT, "{largest} kB");
}
