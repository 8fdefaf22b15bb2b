//! An in-memory cluster for tests: objects are stored, listed, watched, patched and deleted as in Kubernetes, and
//! nothing happens by itself. Selectors are ignored.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures_util::stream;
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::Frame;
use kube::client::Body;
use serde_json::{Map, Value, json};
use tokio::sync::watch;

use crate::testing::scripted_api::refusal;

/// An in-memory cluster. Clones share the state.
#[derive(Clone)]
pub(crate) struct FakeCluster {
    state: Arc<Mutex<State>>,
    /// Changes with every change of the state.
    changed: watch::Sender<u64>,
}

#[derive(Default)]
struct State {
    version: u64,
    /// By kind and name.
    objects: BTreeMap<(String, String), Value>,
    /// Kind, version and watch event.
    events: Vec<(String, u64, Value)>,
    /// Kinds that are not defined.
    undefined_kinds: BTreeSet<String>,
    /// Requests to refuse: method, kind, response, and how often.
    refusals: Vec<(Method, String, (u16, Value), usize)>,
    requests: Vec<String>,
}

type BoxError = Box<dyn std::error::Error + Send + Sync>;

type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

impl FakeCluster {
    pub(crate) fn new() -> FakeCluster {
        FakeCluster {
            state: Arc::default(),
            changed: watch::Sender::new(0),
        }
    }

    pub(crate) fn client(&self) -> kube::Client {
        let cluster = self.clone();
        let service = tower::service_fn(move |request| {
            let cluster = cluster.clone();
            async move { cluster.answer(request).await }
        });
        kube::Client::new(service, "fns")
    }

    /// Removes the definition of a kind.
    pub(crate) fn without(&self, kind: &str) {
        self.state().undefined_kinds.insert(kind.to_owned());
    }

    /// Adds the definition of a kind.
    pub(crate) fn define(&self, kind: &str) {
        self.state().undefined_kinds.remove(kind);
    }

    /// Refuses matching requests a number of times.
    pub(crate) fn refuse(&self, method: Method, kind: &str, code: u16, reason: &str, times: usize) {
        let refusal = (method, kind.to_owned(), refusal(code, reason), times);
        self.state().refusals.push(refusal);
    }

    /// Creates an object or merges `object` into it.
    pub(crate) fn put(&self, kind: &str, name: &str, object: Value) {
        let key = (kind.to_owned(), name.to_owned());
        let mut state = self.state();
        let mut new = state.objects.get(&key).cloned().unwrap_or_default();
        merge(&mut new, &object);
        new["metadata"]["name"] = name.into();
        state.store(key, new);
        self.notify(&state);
    }

    /// Deletes an object as `kubectl delete` does.
    pub(crate) fn delete(&self, kind: &str, name: &str) {
        let mut state = self.state();
        state.delete(&(kind.to_owned(), name.to_owned()));
        self.notify(&state);
    }

    pub(crate) fn list(&self, kind: &str) -> Vec<Value> {
        self.state().list(kind)
    }

    /// Number of requests that contain `what`, as "METHOD path".
    pub(crate) fn count(&self, what: &str) -> usize {
        let state = self.state();
        state
            .requests
            .iter()
            .filter(|requests| requests.contains(what))
            .count()
    }

    /// Waits until the objects of a kind match.
    pub(crate) async fn until(&self, kind: &str, matches: impl Fn(&[Value]) -> bool) {
        let mut changed = self.changed.subscribe();
        let wait = changed.wait_for(|_| matches(&self.list(kind)));
        let waited = tokio::time::timeout(std::time::Duration::from_secs(600), wait).await;
        assert!(waited.is_ok(), "never: {:#?}", self.list(kind));
    }

    async fn answer(self, request: Request<Body>) -> Result<Answer, BoxError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await?.to_bytes();
        let path = head.uri.path().to_owned();
        let rest = path.split("/namespaces/").nth(1).unwrap_or_default();
        let mut parts = rest.split('/').skip(1);
        let (kind, name) = (parts.next().unwrap_or_default(), parts.next());
        let query = head.uri.query().unwrap_or_default();
        let mut state = self.state();
        state.requests.push(format!("{} {path}", head.method));
        if state.undefined_kinds.contains(kind) {
            return whole(refusal(404, "NotFound"));
        }
        if let Some(refused) = state.refused(&head.method, kind) {
            return whole(refused);
        }
        if name.is_none() && query.contains("watch=true") {
            let version = query.split("resourceVersion=").nth(1).unwrap_or_default();
            let version = version.split('&').next().unwrap_or_default();
            let version = version.parse().unwrap_or(0);
            return Ok(self.watch(kind.to_owned(), version));
        }
        let given: Value = serde_json::from_slice(&body).unwrap_or_default();
        let response = state.carry_out(&head.method, kind, name, given);
        self.notify(&state);
        whole(response)
    }

    /// The response to a watch request.
    fn watch(&self, kind: String, version: u64) -> Answer {
        let start = (self.clone(), self.changed.subscribe(), kind, version);
        let events = stream::unfold(start, |(cluster, mut changed, kind, version)| async move {
            loop {
                let next = cluster.state().after(&kind, version);
                if let Some((version, event)) = next {
                    let line = Bytes::from(format!("{event}\n"));
                    let frame = Ok::<_, BoxError>(Frame::data(line));
                    return Some((frame, (cluster, changed, kind, version)));
                }
                changed.changed().await.ok()?;
            }
        });
        Response::new(StreamBody::new(events).boxed_unsync())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    fn notify(&self, state: &State) {
        self.changed.send_replace(state.version);
    }
}

impl State {
    fn carry_out(
        &mut self,
        method: &Method,
        kind: &str,
        name: Option<&str>,
        given: Value,
    ) -> (u16, Value) {
        let Some(name) = name else {
            if *method == Method::GET {
                let metadata = json!({"resourceVersion": self.version.to_string()});
                return (200, json!({"metadata": metadata, "items": self.list(kind)}));
            }
            let name = given["metadata"]["name"].as_str().unwrap_or_default();
            let key = (kind.to_owned(), name.to_owned());
            if self.objects.contains_key(&key) {
                return refusal(409, "AlreadyExists");
            }
            return (201, self.store(key, given));
        };
        let key = (kind.to_owned(), name.to_owned());
        let Some(object) = self.objects.get(&key).cloned() else {
            return refusal(404, "NotFound");
        };
        let conditions = match *method {
            Method::DELETE => &given["preconditions"],
            _ => &given["metadata"],
        };
        for field in ["uid", "resourceVersion"] {
            let wanted = &conditions[field];
            if !wanted.is_null() && *wanted != object["metadata"][field] {
                return refusal(409, "Conflict");
            }
        }
        match *method {
            Method::PATCH => {
                let mut object = object;
                merge(&mut object, &given);
                (200, self.store(key, object))
            }
            Method::DELETE => {
                self.delete(&key);
                (200, json!({}))
            }
            _ => (200, object),
        }
    }

    /// Stores an object; one that is being deleted is removed when it has no finalizers.
    fn store(&mut self, key: (String, String), mut object: Value) -> Value {
        self.version += 1;
        let version = self.version.to_string();
        let before = self.objects.get(&key);
        let generation =
            before.map_or(0, |known| known["metadata"]["generation"].as_u64().unwrap());
        let is_new_spec = before.is_none_or(|known| known["spec"] != object["spec"]);
        let meta = &mut object["metadata"];
        if meta["uid"].is_null() {
            meta["uid"] = format!("uid-{version}").into();
        }
        meta["generation"] = (generation + u64::from(is_new_spec)).into();
        meta["resourceVersion"] = version.into();
        let is_held = meta["finalizers"]
            .as_array()
            .is_some_and(|held| !held.is_empty());
        if !meta["deletionTimestamp"].is_null() && !is_held {
            self.objects.remove(&key);
            self.push_event(&key.0, "DELETED", &object);
        } else {
            self.push_event(&key.0, "MODIFIED", &object);
            self.objects.insert(key, object.clone());
        }
        object
    }

    fn delete(&mut self, key: &(String, String)) {
        if let Some(mut object) = self.objects.get(key).cloned() {
            object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
            self.store(key.clone(), object);
        }
    }

    fn push_event(&mut self, kind: &str, what: &str, object: &Value) {
        let event = json!({"type": what, "object": object});
        self.events.push((kind.to_owned(), self.version, event));
    }

    fn after(&self, kind: &str, version: u64) -> Option<(u64, Value)> {
        let mut events = self.events.iter();
        let next = events.find(|(of, at, _)| of == kind && *at > version)?;
        Some((next.1, next.2.clone()))
    }

    fn list(&self, kind: &str) -> Vec<Value> {
        let objects = self.objects.iter().filter(|((of, _), _)| of == kind);
        objects.map(|(_, object)| object.clone()).collect()
    }

    fn refused(&mut self, method: &Method, kind: &str) -> Option<(u16, Value)> {
        let mut refusals = self.refusals.iter_mut();
        let refusal =
            refusals.find(|(refused, of, _, left)| refused == method && of == kind && *left > 0)?;
        refusal.3 -= 1;
        Some(refusal.2.clone())
    }
}

fn whole((code, body): (u16, Value)) -> Result<Answer, BoxError> {
    let response = Response::builder().status(StatusCode::from_u16(code)?);
    let body = Full::new(Bytes::from(body.to_string()));
    Ok(response.body(body.map_err(|never| match never {}).boxed_unsync())?)
}

/// A JSON merge patch: null removes a field.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(target) = target else {
        return;
    };
    for (field, value) in patch {
        match value {
            Value::Null => drop(target.remove(field)),
            value => merge(target.entry(field).or_insert(Value::Null), value),
        }
    }
}
