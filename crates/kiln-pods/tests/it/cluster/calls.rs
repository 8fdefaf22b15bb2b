//! Calls of one replica.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kiln_pods::{PodError, PodEvaluator};

use super::test_namespace::{call, check_echo, list, test_namespace};

const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(20);

/// Cold and warm calls of two images, while pods and services are deleted.
#[tokio::test(flavor = "multi_thread")]
async fn pods_are_created_used_and_replaced() {
    let Some(namespace) = test_namespace("life").await else {
        return;
    };
    let evaluator = PodEvaluator::start(namespace.options()).await.unwrap();
    assert!(evaluator.is_usable());
    let began = Instant::now();
    check_echo(&evaluator, "echo:v1.0", 1).await;
    eprintln!("cold call: {:?}", began.elapsed());
    assert_eq!(namespace.pods().await.len(), 1);
    let began = Instant::now();
    for number in 0..20 {
        check_echo(&evaluator, "echo:v1.0", number).await;
    }
    eprintln!("warm call: {:?}", began.elapsed() / 20);
    assert_eq!(namespace.pods().await.len(), 1);
    check_echo(&evaluator, "other:v1.0", 3).await;
    assert_eq!(namespace.pods().await.len(), 2);

    // Deleted objects are created again.
    for pod in namespace.pods().await {
        namespace
            .api("", "Pod")
            .delete(&pod, &Default::default())
            .await
            .unwrap();
    }
    check_echo(&evaluator, "echo:v1.0", 4).await;
    let services = namespace.list("", "Service").await;
    for service in services {
        let name = service.metadata.name.unwrap();
        // Some have been deleted with their pods.
        let _ = namespace
            .api("", "Service")
            .delete(&name, &Default::default())
            .await;
    }
    check_echo(&evaluator, "echo:v1.0", 5).await;
    check_echo(&evaluator, "other:v1.0", 6).await;
    evaluator.shut_down(SHUTDOWN_TIMEOUT).await;
    namespace.remove().await;
}

/// Concurrent calls share the pods, and each gets its own result.
#[tokio::test(flavor = "multi_thread")]
async fn concurrent_calls_share_pods() {
    let Some(namespace) = test_namespace("many").await else {
        return;
    };
    let mut options = namespace.options();
    options.max_pods = NonZeroUsize::new(3).unwrap();
    options.pod_ttl = Duration::from_secs(3);
    options.scan_interval = Duration::from_secs(1);
    let evaluator = Arc::new(PodEvaluator::start(options).await.unwrap());
    let calls = (0..50).map(|number| {
        let evaluator = Arc::clone(&evaluator);
        tokio::spawn(async move { check_echo(&evaluator, "echo:v1.0", number).await })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.unwrap();
    }
    assert!(namespace.pods().await.len() <= 3);
    // Pods without calls are deleted after their time to live.
    namespace
        .until("idle pods are gone", async || {
            namespace.pods().await.is_empty()
        })
        .await;
    evaluator.shut_down(SHUTDOWN_TIMEOUT).await;
    namespace.end().await;
}

/// Errors contain the reason.
#[tokio::test(flavor = "multi_thread")]
async fn errors_contain_the_reason() {
    let Some(namespace) = test_namespace("fail").await else {
        return;
    };
    let evaluator = PodEvaluator::start(namespace.options()).await.unwrap();
    let missing = evaluator.evaluate(call("missing:v1.0", &list(1))).await;
    assert!(
        matches!(missing, Err(PodError::ImageNotFound { .. })),
        "{missing:?}"
    );
    let nothing = evaluator
        .evaluate(call("nothing:v1.0", &list(1)))
        .await
        .unwrap_err();
    let text = nothing.to_string();
    assert!(
        text.contains("neither an entrypoint nor a command"),
        "{text}"
    );
    let broken = evaluator
        .evaluate(call("broken:v1.0", &list(1)))
        .await
        .unwrap_err();
    let PodError::Status(status) = &broken else {
        panic!("{broken:?}");
    };
    assert_eq!(status.code(), tonic::Code::Internal);
    assert!(
        status.message().contains("it is broken"),
        "{}",
        status.message()
    );
    let failure = kiln_proto::failure::from_status(status).unwrap();
    assert_eq!(failure.exit_code, 3);

    // A cancelled call returns its pod.
    let mut short = call("slow:v1.0", &list(1));
    check_echo(&evaluator, "slow:v1.0", 1).await;
    short.deadline = Some(kiln_runtime::Deadline {
        at: Instant::now() + Duration::from_millis(300),
        timeout: Duration::from_millis(300),
    });
    let late = evaluator.evaluate(short).await.unwrap_err();
    // The wrapper has the same deadline; either side may report it.
    let is_late = match &late {
        PodError::TimedOut { .. } => true,
        PodError::Status(status) => status.code() == tonic::Code::DeadlineExceeded,
        _ => false,
    };
    assert!(is_late, "{late:?}");
    evaluator.shut_down(SHUTDOWN_TIMEOUT).await;
    namespace.remove().await;
}

/// A pod that is being deleted finishes its calls.
#[tokio::test(flavor = "multi_thread")]
async fn terminating_pods_finish_their_calls() {
    let Some(namespace) = test_namespace("finish").await else {
        return;
    };
    let evaluator = Arc::new(PodEvaluator::start(namespace.options()).await.unwrap());
    check_echo(&evaluator, "slow:v1.0", 1).await;
    let calling = Arc::clone(&evaluator);
    let running = tokio::spawn(async move { check_echo(&calling, "slow:v1.0", 2).await });
    // The function sleeps for three seconds.
    tokio::time::sleep(Duration::from_millis(500)).await;
    for pod in namespace.pods().await {
        namespace
            .api("", "Pod")
            .delete(&pod, &Default::default())
            .await
            .unwrap();
    }
    running.await.unwrap();
    check_echo(&evaluator, "slow:v1.0", 3).await;

    // If the pod is killed during a call, the call fails and is not repeated.
    let calling = Arc::clone(&evaluator);
    let running = tokio::spawn(async move { calling.evaluate(call("slow:v1.0", &list(4))).await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let at_once = kube::api::DeleteParams::default().grace_period(0);
    for pod in namespace.pods().await {
        namespace
            .api("", "Pod")
            .delete(&pod, &at_once)
            .await
            .unwrap();
    }
    let killed = running.await.unwrap();
    assert!(
        matches!(killed, Err(PodError::Interrupted { .. })),
        "{killed:?}"
    );
    check_echo(&evaluator, "slow:v1.0", 5).await;
    evaluator.shut_down(SHUTDOWN_TIMEOUT).await;
    namespace.remove().await;
}
