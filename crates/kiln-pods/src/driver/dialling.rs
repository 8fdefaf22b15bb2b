//! Connections to pods: making them, and what follows if that fails.
//!
//! A pod that Kubernetes calls ready and that cannot be called is of no use to anybody: it has failed, and those who wait go
//! on to another one. Until then they know why they wait. While the API server is away, and no other pod can be had, it is
//! tried for ever.

use std::collections::VecDeque;
use std::sync::Arc;

use super::Driver;
use super::message::{Assignment, Message, Outlook};
use crate::address::Place;
use crate::connection::{Connection, dial};
use crate::state::{Event, Fault, Lasts, PodId};

impl Driver {
    pub(super) fn dial(&mut self, pod: PodId, place: Place) {
        self.hang_up(pod);
        let hands = Arc::clone(&self.hands);
        let task = self.jobs.spawn(async move {
            let trouble = |error: &str, outlook| Message::NotDialled {
                pod,
                trouble: format!("cannot connect to {}: {error}", place.host_port),
                outlook,
            };
            let tell = |error: &str| hands.send(trouble(error, Outlook::TriesAgain));
            let dialled = dial(&place, hands.settings.max_message_size, tell).await;
            hands.send(match dialled {
                Ok(connection) => Message::Dialled { pod, connection },
                Err(error) => trouble(&error, Outlook::GivesUp),
            });
        });
        self.dials.insert(pod, task);
    }

    /// A connection that is being made is of no interest any more.
    pub(super) fn hang_up(&mut self, pod: PodId) {
        if let Some(dial) = self.dials.remove(&pod) {
            dial.abort();
        }
    }

    pub(super) fn dialled(&mut self, pod: PodId, connection: Connection) {
        if self.dials.remove(&pod).is_some() {
            self.connections.insert(pod, connection);
            self.tell(Event::Ready { pod });
        }
    }

    pub(super) fn not_dialled(&mut self, pod: PodId, trouble: &str, outlook: Outlook) {
        if !self.dials.contains_key(&pod) {
            return;
        }
        let name = self.world.name_of(pod).unwrap_or_default();
        let trouble = format!("pod {name}: {trouble}");
        self.tell_waiters(pod, trouble.as_str().into());
        if outlook == Outlook::TriesAgain {
            return;
        }
        self.dials.remove(&pod);
        if self.sight.is_clear() {
            let fault = Fault {
                reason: "Unreachable".into(),
                message: trouble.into(),
                lasts: Lasts::No,
            };
            self.tell(Event::Failed { pod, fault });
        } else {
            let notices = self.world.look_again(pod);
            self.follow(notices);
        }
    }

    /// Asks a pod how long nobody has called it. Without a connection there is nobody to ask.
    pub(super) fn ask(&mut self, pod: PodId, events: &mut VecDeque<Event>) {
        let Some(connection) = self.connections.get(&pod).cloned() else {
            return events.push_back(Event::Used { pod, idle: None });
        };
        self.spawn(|hands| async move {
            let idle = connection.idle().await;
            hands.tell(Event::Used { pod, idle });
        });
    }

    /// Tells those who wait for a pod of the same image why they do.
    pub(super) fn tell_waiters(&self, pod: PodId, trouble: Arc<str>) {
        let Some(image) = self.pool.image_of(pod) else {
            return;
        };
        for asked in self.requests.values().filter(|asked| asked.image == *image) {
            // One that has given up meanwhile says so itself.
            let _ = asked.reply.send(Assignment::Trouble(Arc::clone(&trouble)));
        }
    }
}
