//! How a pod runtime is put in, with one that is made for these tests.

use std::path::PathBuf;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use function_runner::{
    Config, Environment, Flags, Flavour, Listed, PodRuntime, StartPods, StartingPods, prepare,
};
use kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_server::{ForwardedCall, Forwarder, Forwarding, NoObserver};
use tokio::sync::watch;
use tonic::Status;
use tonic::transport::Endpoint;

use crate::program::{CAT, LIST, World};

const NATIVE: &str = "ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.1";
const NATIVE_TOO: &str = "ghcr.io/kptdev/krm-functions-catalog/set-namespace:v0.4.2";

/// Answers with the name of the image.
struct Echo;

static SHUT_DOWN: AtomicUsize = AtomicUsize::new(0);

impl Forwarder for Echo {
    fn forward(&self, call: ForwardedCall) -> Forwarding<'_> {
        let response = EvaluateFunctionResponse {
            resource_list: call.image.into(),
            log: "pod".into(),
        };
        Box::pin(std::future::ready(Ok(response)))
    }

    fn usable(&self) -> watch::Receiver<bool> {
        watch::Sender::new(true).subscribe()
    }
}

/// What it says runs elsewhere than in pods.
struct TwoImages;

const PROGRAM: &str = "example.com/lists/program:v1";
const BUILTIN: &str = "example.com/lists/builtin:v1";

impl Listed for TwoImages {
    fn program(&self, image: &str) -> Option<PathBuf> {
        (image == PROGRAM || image == NATIVE_TOO).then(|| "/bin/cat".into())
    }

    fn builtin(&self, image: &str) -> Option<String> {
        (image == BUILTIN || image == CAT).then(|| "set-namespace:v0.4.1".to_owned())
    }
}

impl PodRuntime for Echo {
    fn listed(&self) -> Arc<dyn Listed> {
        Arc::new(TwoImages)
    }

    fn shut_down(&self, _: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        SHUT_DOWN.fetch_add(1, Ordering::SeqCst);
        Box::pin(std::future::ready(()))
    }
}

fn start<'a>(_: &'a Config, _: &'a Environment) -> StartingPods<'a> {
    let pods: Arc<dyn PodRuntime> = Arc::new(Echo);
    Box::pin(std::future::ready(Ok(pods)))
}

fn config(world: &World, flags: &[&str]) -> (Config, Environment) {
    let environment = Environment {
        variables: vec![
            ("PATH".into(), std::env::var_os("PATH").unwrap_or_default()),
            ("WRAPPER_SERVER_IMAGE".into(), "wrapper:v1".into()),
        ],
        temporary: std::env::temp_dir(),
        directory: world.directory.path().to_owned(),
        program: env!("CARGO_BIN_EXE_function-runner").into(),
    };
    let table = format!("--config={}", world.path("config.yaml").display());
    let own = [
        "--port=0",
        "--listen-address=127.0.0.1",
        "--exec-sandbox=off",
        &table,
    ];
    let flags = own.iter().chain(flags).map(|flag| (*flag).to_owned());
    let config = Flags::new(Flavour::FunctionRunner).parse(flags, &environment);
    (config.expect("flags"), environment)
}

async fn call(address: &str, image: &str) -> Result<EvaluateFunctionResponse, Status> {
    let endpoint = Endpoint::from_shared(format!("http://{address}")).expect("an address");
    let mut client = FunctionEvaluatorClient::new(endpoint.connect_lazy());
    let request = EvaluateFunctionRequest {
        resource_list: LIST.into(),
        image: image.to_owned(),
    };
    let answer = client.evaluate_function(request).await;
    answer.map(tonic::Response::into_inner)
}

#[tokio::test]
async fn pods_get_what_nobody_else_has_and_are_given_back() {
    let world = World::new();
    let (config, environment) = config(&world, &[]);
    let runner = prepare(&config, &environment, Arc::new(NoObserver), Some(start)).await;
    let runner = runner.expect("a runner");
    let address = runner.address().to_string();
    let stop = runner.stop();
    let running = tokio::spawn(runner.run());

    let listed = call(&address, CAT).await.expect("a list");
    assert_eq!(listed.resource_list, LIST);
    let native = call(&address, NATIVE).await.expect("a list");
    assert_ne!(native.log, "pod");
    let program = call(&address, PROGRAM).await.expect("a list");
    assert_eq!(program.resource_list, LIST);
    let builtin = call(&address, BUILTIN).await.expect("a list");
    assert_eq!(builtin.resource_list, native.resource_list);
    // Programs that are listed go before what is built in, by whole and by short name.
    for image in [NATIVE_TOO, "set-namespace:v0.4.2"] {
        let program = call(&address, image).await.expect("a list");
        assert_eq!(program.resource_list, LIST, "{image}");
    }
    for other in ["example.com/other:v1", "set-namespace:v0.0.0-nope"] {
        let answer = call(&address, other).await.expect("an answer");
        assert_eq!(answer.resource_list, other);
        assert_eq!(answer.log, "pod");
    }

    assert_eq!(SHUT_DOWN.load(Ordering::SeqCst), 0);
    stop.drain();
    running.await.expect("an end");
    assert_eq!(SHUT_DOWN.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn pods_can_be_turned_off_and_must_be_where_there_are_none() {
    let world = World::new();
    let refused = async |flags: &[&str], start: Option<StartPods>| {
        let (config, environment) = config(&world, flags);
        let prepared = prepare(&config, &environment, Arc::new(NoObserver), start).await;
        prepared.err().map(|error| format!("{error:#}"))
    };
    assert_eq!(refused(&["--disable-runtimes=pod"], None).await, None);
    let never: StartPods = |_, _| Box::pin(async { anyhow::bail!("not asked for") });
    assert_eq!(
        refused(&["--disable-runtimes=pod"], Some(never)).await,
        None
    );
    assert_eq!(
        refused(&[], Some(never)).await.as_deref(),
        Some("not asked for")
    );
    assert_eq!(
        refused(&[], None).await.as_deref(),
        Some(
            "this program has no pod runtime (function-runner has); --disable-runtimes=pod turns it off"
        )
    );
}
