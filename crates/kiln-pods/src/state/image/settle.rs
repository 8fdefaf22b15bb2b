//! What follows from what is known of an image.

use super::super::command::{Command, Failure};
use super::super::ids::PodId;
use super::super::pod::{Phase, Pod};
use super::super::turn::Turn;
use super::Image;

impl Image {
    /// Draws all conclusions. Doing so again changes nothing.
    pub(in super::super) fn settle(&mut self, turn: &mut Turn<'_>) {
        self.retire();
        self.delete(turn);
        self.make_room_for_extra(turn);
        self.adopt(turn);
        self.serve(turn);
        self.give_back(turn);
        self.forget(turn);
    }

    /// Pods that are made of the wrong things or too many get no more work.
    fn retire(&mut self) {
        let plan = &self.plan;
        for pod in &mut self.pods {
            let is_ours = matches!(pod.phase, Phase::Coming { .. } | Phase::Ready);
            if is_ours && !pod.is_current(plan) {
                pod.phase = Phase::Leaving;
            }
        }
        let active = self.pods.iter().filter(|pod| pod.is_active()).count();
        for _ in plan.settings.max_pods.get()..active {
            let ours = self
                .pods
                .iter_mut()
                .filter(|pod| matches!(pod.phase, Phase::Coming { .. } | Phase::Ready));
            let least = ours.min_by_key(|pod| (pod.running.len(), pod.phase == Phase::Ready));
            if let Some(pod) = least {
                pod.phase = Phase::Leaving;
            }
        }
    }

    /// Pods that are to go do so when they have no work, if we can be sure of what we know.
    fn delete(&mut self, turn: &mut Turn<'_>) {
        if turn.mode.stale {
            return;
        }
        for pod in &mut self.pods {
            if pod.phase == Phase::Leaving && pod.is_idle() {
                pod.phase = Phase::Deleting;
                turn.say(Command::Delete { pod: pod.id });
            }
        }
    }

    /// Pods that were more than we may have are put to use as soon as they are not.
    fn make_room_for_extra(&mut self, turn: &mut Turn<'_>) {
        if turn.mode.stale || turn.mode.draining {
            return;
        }
        let mut room = self.room();
        for pod in &mut self.pods {
            if room > 0 && pod.phase == Phase::Kept && pod.is_current(&self.plan) {
                room -= 1;
                pod.phase = Phase::Coming { since: turn.now };
                turn.say(Command::Check { pod: pod.id });
            }
        }
    }

    /// Nobody's pods are made ours where there is room for them, and collected if nobody can use them. Those that their
    /// replica may still be calling have a word in that.
    fn adopt(&mut self, turn: &mut Turn<'_>) {
        if turn.mode.stale || turn.mode.draining {
            return;
        }
        let settings = self.plan.settings;
        let mut room = self.room();
        for pod in &mut self.pods {
            let is_wreck = match pod.phase {
                Phase::Wreck => true,
                Phase::Orphan { .. } => {
                    let is_useless =
                        !pod.is_current(&self.plan) || pod.expires(settings.ttl) <= turn.now;
                    if is_useless && pod.is_shared {
                        continue;
                    }
                    is_useless
                }
                _ => continue,
            };
            if is_wreck {
                pod.phase = Phase::Collected;
                turn.say(Command::Collect { pod: pod.id });
            } else if room > 0 {
                room -= 1;
                pod.phase = Phase::Claimed;
                turn.say(Command::Adopt { pod: pod.id });
            }
        }
    }

    /// Requests get pods, and pods are created for those who get none.
    fn serve(&mut self, turn: &mut Turn<'_>) {
        self.warm_up &= !turn.mode.draining && !self.pods.iter().any(Pod::is_active);
        if self.warm_up && self.has_room() {
            self.create(turn);
            self.warm_up = false;
        }
        let share = self.plan.settings.max_waitlist.get();
        while !self.waiting.is_empty() {
            let best = self.least_loaded();
            if let Some((pod, load)) = best
                && load < share
            {
                self.start(pod, turn);
                continue;
            }
            let coming = self.coming(turn);
            if self.waiting.len() > coming.saturating_mul(share) && self.may_grow(turn) {
                self.create(turn);
                continue;
            }
            match best {
                // Those who wait share what comes.
                _ if coming > 0 => return,
                Some((pod, _)) => self.start(pod, turn),
                None if turn.mode.draining => {
                    for call in std::mem::take(&mut self.waiting) {
                        call.fail(Failure::Draining, turn);
                    }
                }
                // All the room there is, is taken by pods that have to finish their work first.
                None => return,
            }
        }
    }

    /// A replica that ends keeps no pod that has no work.
    fn give_back(&mut self, turn: &mut Turn<'_>) {
        if !turn.mode.draining || !self.waiting.is_empty() {
            return;
        }
        for pod in &mut self.pods {
            match pod.phase {
                Phase::Coming { .. } | Phase::Ready | Phase::Kept if pod.is_idle() => {
                    pod.phase = Phase::Parted;
                    turn.say(Command::Release { pod: pod.id });
                }
                Phase::Orphan { .. } | Phase::Wreck => pod.phase = Phase::Parted,
                _ => {}
            }
        }
    }

    /// Pods that are not there or not ours are of no interest when their last call is over.
    fn forget(&mut self, turn: &mut Turn<'_>) {
        self.pods.retain(|pod| {
            let is_over = pod.phase == Phase::Parted && pod.is_idle();
            if is_over {
                turn.say(Command::Forget { pod: pod.id });
            }
            !is_over
        });
    }

    /// The pod with the fewest calls that can be called, and how many it has. Among equals it is the one whose turn was
    /// longest ago.
    fn least_loaded(&self) -> Option<(PodId, usize)> {
        let ready = self.pods.iter().filter(|pod| pod.phase == Phase::Ready);
        let best = ready.min_by_key(|pod| (pod.running.len(), pod.picked))?;
        Some((best.id, best.running.len()))
    }

    fn start(&mut self, id: PodId, turn: &mut Turn<'_>) {
        self.picks += 1;
        let picked = self.picks;
        let Some(pod) = self.pods.iter_mut().find(|pod| pod.id == id) else {
            return;
        };
        let Some(call) = self.waiting.pop_front() else {
            return;
        };
        pod.picked = picked;
        // What it says of the time before is of no interest any more.
        pod.is_asked = false;
        pod.running.push(call);
        turn.say(Command::Start {
            request: call.request,
            pod: id,
        });
    }

    fn create(&mut self, turn: &mut Turn<'_>) {
        let pod = turn.names.next();
        let phase = Phase::Coming { since: turn.now };
        self.pods.push(Pod::new(pod, phase, turn.now));
        turn.say(Command::Create {
            pod,
            image: self.key.clone(),
            plan: self.plan.clone(),
        });
    }

    /// How many pods are coming that are worth waiting for. While watches are down nobody hears of a pod that has become
    /// ready, so whoever can go elsewhere does.
    fn coming(&self, turn: &Turn<'_>) -> usize {
        if turn.mode.stale && self.least_loaded().is_some() {
            return 0;
        }
        self.pods.iter().filter(|pod| pod.is_coming()).count()
    }

    fn may_grow(&self, turn: &Turn<'_>) -> bool {
        let is_worth_it = match self.pods.iter().any(Pod::is_active) {
            true => !turn.mode.stale && self.growth.is_due(turn.now),
            false => true,
        };
        !turn.mode.draining && is_worth_it && self.has_room()
    }

    fn has_room(&self) -> bool {
        self.room() > 0
    }

    /// How many more pods there may be.
    fn room(&self) -> usize {
        let count = self.pods.iter().filter(|pod| pod.counts()).count();
        self.plan.settings.max_pods.get().saturating_sub(count)
    }
}
