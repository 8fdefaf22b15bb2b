//! What is tried again, how often, and what is not; and how much is asked at a time.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::scripted::{Scripted, refusal};

fn created() -> (u16, Value) {
    (201, json!({"metadata": {"name": "p"}}))
}

async fn create(scripted: &Scripted, patience: u64) -> Result<Value, ApiError> {
    let api = scripted.api();
    let pods = Collection::pods("fns");
    let until = Instant::now() + Duration::from_secs(patience);
    retry(until, || api.create(&pods, &Value::Null)).await
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again() {
    let answers = [
        refusal(500, "InternalError"),
        refusal(503, "ServiceUnavailable"),
        refusal(409, "Conflict"),
        refusal(401, "Unauthorized"),
        created(),
    ];
    let scripted = Scripted::new(answers);
    create(&scripted, 60).await.unwrap();
    assert_eq!(scripted.asked(), ["POST /api/v1/namespaces/fns/pods"; 5]);
}

#[tokio::test(start_paused = true)]
async fn a_server_is_left_alone_as_long_as_it_wants() {
    let (code, mut status) = refusal(429, "TooManyRequests");
    status["details"] = json!({"retryAfterSeconds": 7});
    let scripted = Scripted::new([(code, status), created()]);
    let began = Instant::now();
    create(&scripted, 60).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(7));
}

/// As the API server's own limiter answers: in plain text.
#[tokio::test(start_paused = true)]
async fn a_server_that_is_asked_too_much_is_left_alone_for_a_while() {
    let too_many = (429, "Too many requests, please try again later.".to_owned());
    let (code, made) = created();
    let scripted = Scripted::from_texts([too_many.clone(), (code, made.to_string())]);
    let began = Instant::now();
    create(&scripted, 60).await.unwrap();
    assert!(began.elapsed() >= Duration::from_secs(1));

    let scripted = Scripted::from_texts([too_many]);
    let error = create(&scripted, 0).await.unwrap_err();
    let told = error.fault("cannot make it").to_string();
    let expected = "TooManyRequests: cannot make it: Too many requests, please try again later.";
    assert_eq!(told, expected);
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_for_good_is_not_tried_again() {
    for (code, reason) in [
        (403, "Forbidden"),
        (422, "Invalid"),
        (404, "NotFound"),
        (409, "AlreadyExists"),
    ] {
        let scripted = Scripted::new([refusal(code, reason), created()]);
        let error = create(&scripted, 60).await.unwrap_err();
        assert_eq!(error.to_string(), format!("because of {reason}"));
        assert_eq!(scripted.asked().len(), 1);
        assert_eq!(error.is_already_there(), reason == "AlreadyExists");
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_tries_longer_than_there_is_time() {
    let scripted = Scripted::new(vec![refusal(500, "InternalError"); 1000]);
    let began = Instant::now();
    create(&scripted, 20).await.unwrap_err();
    assert!(began.elapsed() <= Duration::from_secs(20));
    let tries = scripted.asked().len();
    assert!((5..20).contains(&tries), "{tries} tries");
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_reached_is_tried_again() {
    let error = create(&Scripted::default(), 1).await.unwrap_err();
    assert!(error.is_passing());
    assert!(error.to_string().contains("nothing left to say"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn only_so_much_is_asked_at_a_time() {
    let (scripted, answer) = Scripted::held();
    let (api, pods) = (scripted.api(), Collection::pods("fns"));
    let mut requests = tokio::task::JoinSet::new();
    for _ in 0..3 * AT_ONCE {
        let (api, pods) = (api.clone(), pods.clone());
        requests.spawn(async move { api.create::<Value>(&pods, &Value::Null).await });
    }
    let until_idle = || tokio::time::sleep(Duration::from_millis(1));
    until_idle().await;
    assert_eq!(scripted.asked().len(), AT_ONCE);
    // Those who may not wait for others do not.
    let apart = api.apart();
    requests.spawn(async move { apart.get::<Value>(&pods, "p").await });
    until_idle().await;
    assert_eq!(scripted.asked().len(), AT_ONCE + 1);
    answer.add_permits(1);
    until_idle().await;
    assert_eq!(scripted.asked().len(), AT_ONCE + 2);
}
