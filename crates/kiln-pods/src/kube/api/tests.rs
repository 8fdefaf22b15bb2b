//! Retries, and the limit of concurrent requests.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::testing::scripted_api::{ScriptedApi, refusal};

fn created() -> (u16, Value) {
    (201, json!({"metadata": {"name": "p"}}))
}

async fn create(scripted: &ScriptedApi, seconds: u64) -> Result<Value, ApiError> {
    let api = scripted.api();
    let pods = ResourceCollection::pods("fns");
    let until = Instant::now() + Duration::from_secs(seconds);
    retry(until, || api.create(&pods, &Value::Null)).await
}

#[tokio::test(start_paused = true)]
async fn temporary_errors_are_retried() {
    let answers = [
        refusal(500, "InternalError"),
        refusal(503, "ServiceUnavailable"),
        refusal(409, "Conflict"),
        refusal(401, "Unauthorized"),
        created(),
    ];
    let scripted = ScriptedApi::new(answers);
    create(&scripted, 60).await.unwrap();
    assert_eq!(scripted.requests(), ["POST /api/v1/namespaces/fns/pods"; 5]);
}

#[tokio::test(start_paused = true)]
async fn retry_after_is_respected() {
    let (code, mut status) = refusal(429, "TooManyRequests");
    status["details"] = json!({"retryAfterSeconds": 7});
    let scripted = ScriptedApi::new([(code, status), created()]);
    let began = Instant::now();
    create(&scripted, 60).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(7));
}

/// The response of the API server's concurrency limiter is plain text.
#[tokio::test(start_paused = true)]
async fn the_concurrency_limiter_is_respected() {
    let too_many = (429, "Too many requests, please try again later.".to_owned());
    let (code, made) = created();
    let scripted = ScriptedApi::from_texts([too_many.clone(), (code, made.to_string())]);
    let began = Instant::now();
    create(&scripted, 60).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(1));

    let scripted = ScriptedApi::from_texts([too_many]);
    let error = create(&scripted, 0).await.unwrap_err();
    let text = error.fault("cannot create it").to_string();
    let expected = "TooManyRequests: cannot create it: Too many requests, please try again later.";
    assert_eq!(text, expected);
}

#[tokio::test(start_paused = true)]
async fn permanent_errors_are_not_retried() {
    for (code, reason) in [
        (403, "Forbidden"),
        (422, "Invalid"),
        (404, "NotFound"),
        (409, "AlreadyExists"),
    ] {
        let scripted = ScriptedApi::new([refusal(code, reason), created()]);
        let error = create(&scripted, 60).await.unwrap_err();
        assert_eq!(error.to_string(), format!("because of {reason}"));
        assert_eq!(scripted.requests().len(), 1);
        assert_eq!(error.is_already_exists(), reason == "AlreadyExists");
    }
}

#[tokio::test(start_paused = true)]
async fn retries_end_at_the_deadline() {
    let scripted = ScriptedApi::new(vec![refusal(500, "InternalError"); 1000]);
    let began = Instant::now();
    create(&scripted, 20).await.unwrap_err();
    assert!(began.elapsed() <= Duration::from_secs(20));
    let tries = scripted.requests().len();
    assert!((5..20).contains(&tries), "{tries} tries");
}

#[tokio::test(start_paused = true)]
async fn an_unreachable_server_is_retryable() {
    let error = create(&ScriptedApi::default(), 1).await.unwrap_err();
    assert!(error.is_retryable());
    assert!(error.to_string().contains("no responses left"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn concurrent_requests_are_limited() {
    let (scripted, answer) = ScriptedApi::held();
    let (api, pods) = (scripted.api(), ResourceCollection::pods("fns"));
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..3 * MAX_CONCURRENT {
        let (api, pods) = (api.clone(), pods.clone());
        requests.spawn(async move { api.create::<Value>(&pods, &Value::Null).await });
    }
    let until_idle = || tokio::time::sleep(Duration::from_millis(1));
    until_idle().await;
    assert_eq!(scripted.requests().len(), MAX_CONCURRENT);
    // A client with its own limit does not wait.
    let with_own_limit = api.with_own_limit();
    requests.spawn(async move { with_own_limit.get::<Value>(&pods, "p").await });
    until_idle().await;
    assert_eq!(scripted.requests().len(), MAX_CONCURRENT + 1);
    answer.add_permits(1);
    until_idle().await;
    assert_eq!(scripted.requests().len(), MAX_CONCURRENT + 2);
}

/// One refusal makes all requests wait, so that each of many is not refused again and again.
#[tokio::test(start_paused = true)]
async fn a_refusal_makes_all_requests_wait() {
    let (code, mut status) = refusal(429, "TooManyRequests");
    status["details"] = json!({"retryAfterSeconds": 3});
    let scripted = ScriptedApi::new([(code, status), created()]);
    let api = scripted.api();
    let pods = ResourceCollection::pods("fns");
    let began = Instant::now();
    assert!(api.create::<Value>(&pods, &Value::Null).await.is_err());
    assert_eq!(began.elapsed(), Duration::ZERO);
    api.create::<Value>(&pods, &Value::Null).await.unwrap();
    assert_eq!(began.elapsed().as_secs(), 3);
}
