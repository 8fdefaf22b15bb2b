//! When the pull secret is deleted.

use serde_json::Value;

use super::*;
use crate::testing::scripted_api::{ScriptedApi, refusal};

fn secret(label: Option<&str>) -> (u16, Value) {
    let labels = label.map(|label| json!({MANAGED_BY_LABEL: label}));
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

/// Checks whether the secret is deleted, given the responses of the API server.
async fn check(answers: Vec<(u16, Value)>, is_deleted: bool) {
    let scripted = ScriptedApi::new(answers);
    let copy = PullSecretSync::new("/nowhere".into(), "s".to_owned(), "fns");
    let api = scripted.api();
    copy.remove(&api, &ResourceCollection::pods("fns"))
        .await
        .unwrap();
    let requests = scripted.requests();
    let deletes = requests
        .iter()
        .any(|request| request == "DELETE /api/v1/namespaces/fns/secrets/s");
    assert_eq!(deletes, is_deleted, "{requests:?}");
}

#[tokio::test]
async fn a_secret_created_by_a_replica_is_deleted_when_unused() {
    let made = || secret(Some(FIELD_MANAGER));
    let deleted = || (200, json!({"kind": "Status", "status": "Success"}));
    check(vec![made(), pods(&[]), deleted()], true).await;
    check(vec![made(), pods(&["another"]), deleted()], true).await;
    check(vec![made(), pods(&["another", "s"])], false).await;
    check(vec![refusal(404, "NotFound")], false).await;
    // It has changed: another replica uses it.
    check(vec![made(), pods(&[]), refusal(409, "Conflict")], true).await;
}

#[tokio::test]
async fn a_secret_created_by_another_client_stays() {
    check(vec![secret(None)], false).await;
    check(vec![secret(Some("helm"))], false).await;
}
