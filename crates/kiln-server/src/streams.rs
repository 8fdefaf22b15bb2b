//! The tasks of a connection, one per stream: they are counted, and a stream whose response the client does not read
//! ends after a while.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::rt::Executor;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::connections::OpenConnection;

tokio::task_local! {
    static ANSWER: Arc<AnswerDeadline>;
}

/// Runs the streams of a connection.
#[derive(Clone, Debug)]
pub(crate) struct Streams(pub(crate) Arc<OpenConnection>);

impl<F> Executor<F> for Streams
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    fn execute(&self, stream: F) {
        let open = self.0.open_stream();
        let deadline = Arc::new(AnswerDeadline::default());
        tokio::spawn(ANSWER.scope(Arc::clone(&deadline), async move {
            let _open = open;
            tokio::select! {
                _ = stream => {}
                () = deadline.passed() => {
                    tracing::debug!("the client did not read a response in time");
                }
            }
        }));
    }
}

/// Ends the stream of the current task if the client has not read its response by then.
pub(crate) fn end_stream_after(time: Duration) {
    let _ = ANSWER.try_with(|deadline| {
        if let Some(at) = Instant::now().checked_add(time) {
            let _ = deadline.at.set(at);
            deadline.is_set.notify_one();
        }
    });
}

/// When the client must have read the response, once there is one.
#[derive(Debug, Default)]
struct AnswerDeadline {
    at: OnceLock<Instant>,
    is_set: Notify,
}

impl AnswerDeadline {
    async fn passed(&self) {
        let at = loop {
            let set = self.is_set.notified();
            if let Some(at) = self.at.get() {
                break *at;
            }
            set.await;
        };
        sleep_until(at).await;
    }
}
