//! Calls of one replica.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::{Duration, Instant};

use kiln_pods::{PodError, PodEvaluator};

use super::place::{call, check_echo, list, place};

const PATIENCE: Duration = Duration::from_secs(20);

/// Cold and warm, of two images, whatever becomes of pods and services in between.
#[tokio::test(flavor = "multi_thread")]
async fn pods_are_made_used_and_replaced() {
    let Some(place) = place("life").await else {
        return;
    };
    let evaluator = PodEvaluator::start(place.options()).await.unwrap();
    assert!(evaluator.is_usable());
    let began = Instant::now();
    check_echo(&evaluator, "echo:v1.0", 1).await;
    eprintln!("cold call: {:?}", began.elapsed());
    assert_eq!(place.pods().await.len(), 1);
    let began = Instant::now();
    for number in 0..20 {
        check_echo(&evaluator, "echo:v1.0", number).await;
    }
    eprintln!("warm call: {:?}", began.elapsed() / 20);
    assert_eq!(place.pods().await.len(), 1);
    check_echo(&evaluator, "other:v1.0", 3).await;
    assert_eq!(place.pods().await.len(), 2);

    // What others delete is made again.
    for pod in place.pods().await {
        place
            .api("", "Pod")
            .delete(&pod, &Default::default())
            .await
            .unwrap();
    }
    check_echo(&evaluator, "echo:v1.0", 4).await;
    let services = place.list("", "Service").await;
    for service in services {
        let name = service.metadata.name.unwrap();
        // Some go with their pods.
        let _ = place
            .api("", "Service")
            .delete(&name, &Default::default())
            .await;
    }
    check_echo(&evaluator, "echo:v1.0", 5).await;
    check_echo(&evaluator, "other:v1.0", 6).await;
    evaluator.shut_down(PATIENCE).await;
    place.remove().await;
}

/// Many at once share what pods there may be, and all get their own answer.
#[tokio::test(flavor = "multi_thread")]
async fn calls_at_once_share_pods() {
    let Some(place) = place("many").await else {
        return;
    };
    let mut options = place.options();
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
    assert!(place.pods().await.len() <= 3);
    // Unused, they go after their time.
    place
        .until("idle pods are gone", async || place.pods().await.is_empty())
        .await;
    evaluator.shut_down(PATIENCE).await;
    place.end().await;
}

/// What cannot be run is said, with the reason.
#[tokio::test(flavor = "multi_thread")]
async fn failures_say_why() {
    let Some(place) = place("fail").await else {
        return;
    };
    let evaluator = PodEvaluator::start(place.options()).await.unwrap();
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

    // A caller that gives up gives its pod up.
    let mut short = call("slow:v1.0", &list(1));
    check_echo(&evaluator, "slow:v1.0", 1).await;
    short.deadline = Some(kiln_runtime::Deadline {
        at: Instant::now() + Duration::from_millis(300),
        timeout: Duration::from_millis(300),
    });
    let late = evaluator.evaluate(short).await.unwrap_err();
    // The wrapper has the same deadline, and whoever is first says so.
    let is_late = match &late {
        PodError::TimedOut { .. } => true,
        PodError::Status(status) => status.code() == tonic::Code::DeadlineExceeded,
        _ => false,
    };
    assert!(is_late, "{late:?}");
    evaluator.shut_down(PATIENCE).await;
    place.remove().await;
}

/// A pod that others delete finishes what it does.
#[tokio::test(flavor = "multi_thread")]
async fn pods_finish_what_they_do() {
    let Some(place) = place("finish").await else {
        return;
    };
    let evaluator = Arc::new(PodEvaluator::start(place.options()).await.unwrap());
    check_echo(&evaluator, "slow:v1.0", 1).await;
    let calling = Arc::clone(&evaluator);
    let running = tokio::spawn(async move { check_echo(&calling, "slow:v1.0", 2).await });
    // The function sleeps for seconds; by now it does.
    tokio::time::sleep(Duration::from_millis(500)).await;
    for pod in place.pods().await {
        place
            .api("", "Pod")
            .delete(&pod, &Default::default())
            .await
            .unwrap();
    }
    running.await.unwrap();
    check_echo(&evaluator, "slow:v1.0", 3).await;

    // One that is killed with the function in it is no answer, and nothing is run twice.
    let calling = Arc::clone(&evaluator);
    let running = tokio::spawn(async move { calling.evaluate(call("slow:v1.0", &list(4))).await });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let at_once = kiln_pods::kube::api::DeleteParams::default().grace_period(0);
    for pod in place.pods().await {
        place.api("", "Pod").delete(&pod, &at_once).await.unwrap();
    }
    let killed = running.await.unwrap();
    assert!(
        matches!(killed, Err(PodError::Interrupted { .. })),
        "{killed:?}"
    );
    check_echo(&evaluator, "slow:v1.0", 5).await;
    evaluator.shut_down(PATIENCE).await;
    place.remove().await;
}
