//! An API server for tests with scripted responses.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::kube::api::Api;

/// The remaining responses and the recorded requests.
#[derive(Clone, Default)]
pub(crate) struct ScriptedApi {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    answers: VecDeque<(u16, String)>,
    requests: Vec<String>,
    /// Each permit allows one response, if responses are held back.
    held: Option<Arc<Semaphore>>,
}

impl ScriptedApi {
    pub(crate) fn new(answers: impl IntoIterator<Item = (u16, Value)>) -> ScriptedApi {
        let answers = answers
            .into_iter()
            .map(|(code, body)| (code, body.to_string()));
        ScriptedApi::from_texts(answers)
    }

    pub(crate) fn from_texts(answers: impl IntoIterator<Item = (u16, String)>) -> ScriptedApi {
        let inner = Inner {
            answers: answers.into_iter().collect(),
            ..Inner::default()
        };
        ScriptedApi {
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    /// A server that sends an empty response for each permit.
    pub(crate) fn held() -> (ScriptedApi, Arc<Semaphore>) {
        let scripted = ScriptedApi::new(vec![(200, json!({})); 100]);
        let answers = Arc::new(Semaphore::new(0));
        scripted.inner.lock().unwrap().held = Some(Arc::clone(&answers));
        (scripted, answers)
    }

    /// The requests so far, as "METHOD path".
    pub(crate) fn requests(&self) -> Vec<String> {
        self.inner.lock().unwrap().requests.clone()
    }

    /// A client. Without remaining responses, requests fail.
    pub(crate) fn api(&self) -> Api {
        let scripted = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let mut inner = scripted.inner.lock().unwrap();
            let path = request.uri().path();
            inner.requests.push(format!("{} {path}", request.method()));
            let answer = inner.answers.pop_front();
            let held = inner.held.clone();
            async move {
                if let Some(held) = held {
                    held.acquire().await?.forget();
                }
                let (code, body) = answer.ok_or("no responses left")?;
                let response = Response::builder()
                    .status(code)
                    .body(Body::from(body.into_bytes()));
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(response?)
            }
        });
        Api::new(kube::Client::new(service, "fns"))
    }
}

/// The response to a failed request.
pub(crate) fn refusal(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": format!("because of {reason}"),
    });
    (code, status)
}
