//! When the secret goes.

use serde_json::Value;

use super::*;
use crate::scripted::{Scripted, refusal};

fn secret(label: Option<&str>) -> (u16, Value) {
    let labels = label.map(|label| json!({MADE_BY_LABEL: label}));
    let metadata = json!({"name": "s", "uid": "u", "resourceVersion": "7", "labels": labels.unwrap_or(json!({}))});
    (200, json!({"metadata": metadata, "data": {}}))
}

fn pods(secrets: &[&str]) -> (u16, Value) {
    let pod = |name: &&str| json!({"spec": {"imagePullSecrets": [{"name": name}]}});
    let items: Vec<Value> = secrets.iter().map(pod).collect();
    (
        200,
        json!({"metadata": {"resourceVersion": "9"}, "items": items}),
    )
}

/// Whether it is deleted when these are the answers of the API server.
async fn check(answers: Vec<(u16, Value)>, is_deleted: bool) {
    let scripted = Scripted::new(answers);
    let copy = PullSecretCopy::new("/nowhere".into(), "s".to_owned(), "fns");
    let api = scripted.api();
    copy.remove(&api, &Collection::pods("fns")).await.unwrap();
    let asked = scripted.asked();
    let deletes = asked
        .iter()
        .any(|asked| asked == "DELETE /api/v1/namespaces/fns/secrets/s");
    assert_eq!(deletes, is_deleted, "{asked:?}");
}

#[tokio::test]
async fn a_secret_that_a_replica_made_goes_when_no_pod_needs_it() {
    let made = || secret(Some(FIELD_MANAGER));
    let deleted = || (200, json!({"kind": "Status", "status": "Success"}));
    check(vec![made(), pods(&[]), deleted()], true).await;
    check(vec![made(), pods(&["another"]), deleted()], true).await;
    check(vec![made(), pods(&["another", "s"])], false).await;
    check(vec![refusal(404, "NotFound")], false).await;
    // It has changed meanwhile: somebody has begun to use it.
    check(vec![made(), pods(&[]), refusal(409, "Conflict")], true).await;
}

#[tokio::test]
async fn the_secret_of_somebody_else_stays() {
    check(vec![secret(None)], false).await;
    check(vec![secret(Some("helm"))], false).await;
}
