//! An API server for tests that answers what it is told to, in order.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::api::Api;

/// What an API server is asked, and what it has left to say.
#[derive(Clone, Default)]
pub(crate) struct Scripted {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    answers: VecDeque<(u16, String)>,
    asked: Vec<String>,
    /// Each of these allows an answer, where answers are held back.
    held: Option<Arc<Semaphore>>,
}

impl Scripted {
    pub(crate) fn new(answers: impl IntoIterator<Item = (u16, Value)>) -> Scripted {
        let answers = answers
            .into_iter()
            .map(|(code, body)| (code, body.to_string()));
        Scripted::from_texts(answers)
    }

    pub(crate) fn from_texts(answers: impl IntoIterator<Item = (u16, String)>) -> Scripted {
        let inner = Inner {
            answers: answers.into_iter().collect(),
            ..Inner::default()
        };
        Scripted {
            inner: Arc::new(Mutex::new(inner)),
        }
    }

    /// One that has no more to say than that it got a request, and says it as often as it is allowed to.
    pub(crate) fn held() -> (Scripted, Arc<Semaphore>) {
        let scripted = Scripted::new(vec![(200, json!({})); 100]);
        let answers = Arc::new(Semaphore::new(0));
        scripted.inner.lock().unwrap().held = Some(Arc::clone(&answers));
        (scripted, answers)
    }

    /// What was asked so far: methods and paths.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.inner.lock().unwrap().asked.clone()
    }

    /// A way to it. When it has nothing left to say, it cannot be reached.
    pub(crate) fn api(&self) -> Api {
        let scripted = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let mut inner = scripted.inner.lock().unwrap();
            let path = request.uri().path();
            inner.asked.push(format!("{} {path}", request.method()));
            let answer = inner.answers.pop_front();
            let held = inner.held.clone();
            async move {
                if let Some(held) = held {
                    held.acquire().await?.forget();
                }
                let (code, body) = answer.ok_or("nothing left to say")?;
                let response = Response::builder()
                    .status(code)
                    .body(Body::from(body.into_bytes()));
                Ok::<_, Box<dyn std::error::Error + Send + Sync>>(response?)
            }
        });
        Api::new(kube::Client::new(service, "fns"))
    }
}

/// What Kubernetes says when it does not do something.
pub(crate) fn refusal(code: u16, reason: &str) -> (u16, Value) {
    let status = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "code": code, "reason": reason, "message": format!("because of {reason}"),
    });
    (code, status)
}
