//! Events of objects of a kind, from `kubectl get --watch`.

use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use serde_json::Value;

use super::machine::Machine;

/// What happened to an object.
pub(crate) enum Event {
    /// It exists in this state.
    Is(Value),
    IsGone(Value),
}

/// Why there is no event.
pub(crate) enum NoEvent {
    Yet,
    /// The watch has ended.
    Ever,
}

/// A watch. It ends when this is dropped.
pub(crate) struct Events {
    child: Child,
    events: Receiver<Event>,
}

impl Events {
    /// A watch on the objects of a kind in a namespace.
    pub(crate) fn of(machine: &Machine, namespace: &str, kind: &str) -> Events {
        let mut command = machine.kubectl_command();
        command
            .args(["-n", namespace, "get", kind, "-o", "json"])
            .args(["--watch", "--output-watch-events"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut child = command.spawn().expect("kubectl");
        let stdout = child.stdout.take().expect("standard output");
        let (sender, events) = channel();
        std::thread::spawn(move || pass_on(stdout, &sender));
        Events { child, events }
    }

    /// The next one, if it comes soon enough.
    pub(crate) fn next(&self, patience: Duration) -> Result<Event, NoEvent> {
        let event = self.events.recv_timeout(patience);
        event.map_err(|error| match error {
            RecvTimeoutError::Timeout => NoEvent::Yet,
            RecvTimeoutError::Disconnected => NoEvent::Ever,
        })
    }
}

impl Drop for Events {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn pass_on(output: impl std::io::Read, to: &Sender<Event>) {
    let events = serde_json::Deserializer::from_reader(output).into_iter::<Value>();
    for mut event in events.map_while(Result::ok) {
        let object = event["object"].take();
        let event = match event["type"].as_str() {
            Some("DELETED") => Event::IsGone(object),
            _ => Event::Is(object),
        };
        if to.send(event).is_err() {
            break;
        }
    }
}
