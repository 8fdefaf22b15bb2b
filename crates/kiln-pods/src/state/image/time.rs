//! What time alone brings about.

use std::sync::Arc;
use std::time::Duration;

use kiln_runtime::go_duration;

use super::super::command::Command;
use super::super::event::{Fault, Lasts};
use super::super::ids::PodId;
use super::super::moment::Moment;
use super::super::pod::Phase;
use super::super::turn::Turn;
use super::Image;

impl Image {
    /// Pods that take too long have failed. Nobody's pods that nobody has room for are collected if they do not answer. If
    /// they do, their replica may be cut off and still be calling them: we keep them, as many as we may have, until their time
    /// is over.
    pub(in super::super) fn tick(&mut self, turn: &mut Turn<'_>) {
        if turn.mode.stale {
            return;
        }
        let (now, orphan_grace) = (turn.now, turn.orphan_grace);
        let start_timeout = self.plan.settings.start_timeout;
        let extra = self.pods.iter().filter(|pod| pod.is_extra()).count();
        let mut room_for_extra = self.plan.settings.max_pods.get().saturating_sub(extra);
        let mut late: Vec<(PodId, Lasts)> = Vec::new();
        for pod in &mut self.pods {
            match pod.phase {
                Phase::Coming { since } if now >= since.after(start_timeout) => {
                    let lasts = if pod.was_ready { Lasts::No } else { Lasts::Yes };
                    late.push((pod.id, lasts));
                }
                Phase::Orphan { since } if now >= since.after(orphan_grace) => {
                    if turn.mode.draining {
                        pod.phase = Phase::Parted;
                    } else if pod.answers && room_for_extra > 0 {
                        room_for_extra -= 1;
                        pod.phase = Phase::Keeping;
                        turn.say(Command::Adopt { pod: pod.id });
                    } else {
                        pod.phase = Phase::Collected;
                        turn.say(Command::Collect { pod: pod.id });
                    }
                }
                _ => {}
            }
        }
        for (pod, lasts) in late {
            self.failed(pod, &not_ready(start_timeout, lasts), turn);
        }
    }

    /// Pods without work go when their time is over, the others have it written down that they stay, and what was told
    /// and has not happened is told again. Those that somebody else may be calling are asked first.
    pub(in super::super) fn scan(&mut self, turn: &mut Turn<'_>) {
        if turn.mode.stale {
            return;
        }
        let now = turn.now;
        let plan = Arc::clone(&self.plan);
        let ttl = plan.settings.ttl;
        for pod in &mut self.pods {
            let id = pod.id;
            match pod.phase {
                Phase::Deleting => turn.say(Command::Delete { pod: id }),
                Phase::Collected => turn.say(Command::Collect { pod: id }),
                Phase::Claimed | Phase::Keeping => turn.say(Command::Adopt { pod: id }),
                Phase::Coming { .. } | Phase::Ready | Phase::Kept
                    if pod.is_idle()
                        && (self.waiting.is_empty() || pod.is_extra())
                        && pod.has_expired(&plan, turn) =>
                {
                    match pod.keeps_a_secret() {
                        true => pod.ask(turn),
                        false => pod.phase = Phase::Leaving,
                    }
                }
                Phase::Ready | Phase::Kept => {
                    let stays_until = if pod.is_idle() {
                        pod.expires(ttl)
                    } else {
                        now.after(ttl)
                    };
                    // It is written in whole seconds.
                    let is_news = |known: Moment| {
                        let differ = stays_until.since(known).max(known.since(stays_until));
                        differ >= Duration::from_secs(1)
                    };
                    if pod.annotated.is_none_or(is_news) {
                        pod.annotated = Some(stays_until);
                        turn.say(Command::Annotate {
                            pod: id,
                            reclaim_in: stays_until.since(now),
                        });
                    }
                }
                _ => {}
            }
        }
    }

    /// Watches are up again. What could not be heard meanwhile is not held against anybody.
    pub(in super::super) fn fresh(&mut self, now: Moment) {
        for pod in &mut self.pods {
            match &mut pod.phase {
                Phase::Coming { since } | Phase::Orphan { since } => {
                    *since = now;
                }
                _ => {}
            }
        }
    }

    /// When the next pod is late.
    pub(in super::super) fn next_late(&self, orphan_grace: Duration) -> Option<Moment> {
        let start_timeout = self.plan.settings.start_timeout;
        let late = self.pods.iter().filter_map(|pod| match pod.phase {
            Phase::Coming { since } => Some(since.after(start_timeout)),
            Phase::Orphan { since } => Some(since.after(orphan_grace)),
            _ => None,
        });
        late.min()
    }
}

fn not_ready(start_timeout: Duration, lasts: Lasts) -> Fault {
    let message = format!(
        "the pod was not ready within {}",
        go_duration(start_timeout)
    );
    Fault {
        reason: "Timeout".into(),
        message: message.into(),
        lasts,
    }
}
