//! Work that is done by several threads with the outcome of one after the other.
//!
//! Everything that is not finished is kept by its [`Place`]. Of what can be done, the first is always taken first; so the
//! first of all that is unfinished is never left waiting for a thread, and work that waits for its turn waits for work
//! that goes on. Only the first talks; what the others say is kept back until they are the first. After a failure
//! nothing that comes later is begun, what is being done there is cancelled, and what comes before goes on, because it
//! may fail as well, and then that is the failure that counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use kiln_runtime::CancelToken;

use crate::lane::{Overtaken, OwnedEvent, Turns};
use crate::place::Place;

/// All work that is not finished.
pub(crate) struct Schedule<W> {
    state: Mutex<State<W>>,
    moved: Condvar,
}

struct State<W> {
    tasks: BTreeMap<Place, Task<W>>,
    ready: BTreeSet<Place>,
    running: usize,
    idle: usize,
    /// The first place where something failed.
    failed: Option<Place>,
    /// Where those in turn talk to; none before and after several threads work.
    listener: Option<Sender<OwnedEvent>>,
    /// Whether a thread has panicked.
    is_abandoned: bool,
}

struct Task<W> {
    stage: Stage<W>,
    kept_back: Vec<OwnedEvent>,
}

enum Stage<W> {
    /// It can be done when as many others are finished.
    Waiting(W, usize),
    Running(CancelToken),
    Finished,
    Failed,
}

/// A piece of work to be done now.
pub(crate) struct Taken<W> {
    pub(crate) place: Place,
    pub(crate) work: W,
    /// Tells that something before it has failed.
    pub(crate) cancel: CancelToken,
    /// Whether there is more to be done than there are threads waiting for it.
    pub(crate) wants_help: bool,
}

/// What may be changed when a piece of work is finished.
pub(crate) struct Upcoming<'a, W> {
    tasks: &'a mut BTreeMap<Place, Task<W>>,
    ready: &'a mut BTreeSet<Place>,
}

impl<W> Schedule<W> {
    /// A schedule with one piece of work that can be done at once.
    pub(crate) fn new(place: Place, work: W) -> Schedule<W> {
        let mut state = State {
            tasks: BTreeMap::new(),
            ready: BTreeSet::new(),
            running: 0,
            idle: 0,
            failed: None,
            listener: None,
            is_abandoned: false,
        };
        state.upcoming().add(place, work, 0);
        Schedule {
            state: Mutex::new(state),
            moved: Condvar::new(),
        }
    }

    /// How many pieces of work can be done at the same time at this moment.
    pub(crate) fn ready(&self) -> usize {
        self.lock().ready.len()
    }

    /// What is told from now on goes there, until there is nothing left to do.
    pub(crate) fn tell(&self, listener: Sender<OwnedEvent>) {
        self.lock().listener = Some(listener);
    }

    /// The next thing to do, waiting for it if need be; none if nothing is left.
    pub(crate) fn take(&self) -> Option<Taken<W>> {
        let mut state = self.lock();
        loop {
            if let Some(taken) = state.take() {
                return Some(taken);
            }
            if state.running == 0 || state.is_abandoned {
                state.listener = None;
                self.moved.notify_all();
                return None;
            }
            state.idle += 1;
            state = self.wait(state);
            state.idle -= 1;
        }
    }

    /// A piece of work has come to a good end; `then` is told unless nobody wants to know any more.
    pub(crate) fn finish(&self, place: &Place, then: impl FnOnce(&mut Upcoming<'_, W>)) {
        let mut state = self.lock();
        state.running = state.running.saturating_sub(1);
        if !state.is_overtaken(place) {
            then(&mut state.upcoming());
        }
        state.set_stage(place, Stage::Finished);
        state.advance();
        self.moved.notify_all();
    }

    /// A piece of work has failed.
    pub(crate) fn fail(&self, place: &Place) {
        let mut state = self.lock();
        state.running = state.running.saturating_sub(1);
        state.set_stage(place, Stage::Failed);
        if !state.is_overtaken(place) {
            state.failed = Some(place.clone());
            state.ready.split_off(place);
            state.cancel_from(place);
        }
        state.advance();
        self.moved.notify_all();
    }

    /// Lets all threads come to an end after one has panicked.
    pub(crate) fn abandon(&self) {
        let mut state = self.lock();
        state.is_abandoned = true;
        state.listener = None;
        state.ready.clear();
        state.cancel_from(&Place::root());
        self.moved.notify_all();
    }

    /// What was never begun.
    pub(crate) fn into_waiting(self) -> BTreeMap<Place, W> {
        let state = self.state.into_inner();
        let tasks = state.unwrap_or_else(PoisonError::into_inner).tasks;
        let waiting = tasks
            .into_iter()
            .filter_map(|(place, task)| match task.stage {
                Stage::Waiting(work, _) => Some((place, work)),
                Stage::Running(_) | Stage::Finished | Stage::Failed => None,
            });
        waiting.collect()
    }

    fn lock(&self) -> MutexGuard<'_, State<W>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<W>>) -> MutexGuard<'a, State<W>> {
        let waited = self.moved.wait(state);
        waited.unwrap_or_else(PoisonError::into_inner)
    }
}

impl<W: Send> Turns for Schedule<W> {
    fn event(&self, place: &Place, event: OwnedEvent) {
        let mut state = self.lock();
        if state.is_first(place) {
            state.say(event);
        } else if let Some(task) = state.tasks.get_mut(place) {
            task.kept_back.push(event);
        }
    }

    fn await_turn(&self, place: &Place) -> Result<(), Overtaken> {
        let mut state = self.lock();
        loop {
            if state.is_overtaken(place) {
                return Err(Overtaken);
            }
            if state.is_first(place) {
                return Ok(());
            }
            state = self.wait(state);
        }
    }
}

impl<W> State<W> {
    fn upcoming(&mut self) -> Upcoming<'_, W> {
        Upcoming {
            tasks: &mut self.tasks,
            ready: &mut self.ready,
        }
    }

    fn take(&mut self) -> Option<Taken<W>> {
        let place = self.ready.pop_first()?;
        let task = self.tasks.get_mut(&place)?;
        let cancel = CancelToken::new();
        let running = Stage::Running(cancel.clone());
        let Stage::Waiting(work, _) = std::mem::replace(&mut task.stage, running) else {
            return None;
        };
        self.running += 1;
        Some(Taken {
            place,
            work,
            cancel,
            wants_help: self.ready.len() > self.idle,
        })
    }

    fn is_first(&self, place: &Place) -> bool {
        self.tasks
            .first_key_value()
            .is_some_and(|(first, _)| first == place)
    }

    fn is_overtaken(&self, place: &Place) -> bool {
        self.is_abandoned || self.failed.as_ref().is_some_and(|failed| failed < place)
    }

    fn set_stage(&mut self, place: &Place, stage: Stage<W>) {
        if let Some(task) = self.tasks.get_mut(place) {
            task.stage = stage;
        }
    }

    fn cancel_from(&self, place: &Place) {
        for (_, task) in self.tasks.range(place..) {
            if let Stage::Running(cancel) = &task.stage {
                cancel.cancel();
            }
        }
    }

    /// Tells what was kept back by those whose turn has come. Nothing gets past a failure.
    fn advance(&mut self) {
        while let Some(mut first) = self.tasks.first_entry() {
            let kept_back = std::mem::take(&mut first.get_mut().kept_back);
            let is_finished = matches!(first.get().stage, Stage::Finished);
            if is_finished {
                first.remove();
            }
            for event in kept_back {
                self.say(event);
            }
            if !is_finished {
                break;
            }
        }
    }

    fn say(&self, event: OwnedEvent) {
        if let Some(listener) = &self.listener {
            // Whoever does not listen any more does not want to know.
            let _ = listener.send(event);
        }
    }
}

impl<W> Upcoming<'_, W> {
    /// Adds work that can be done when `before` others are finished.
    pub(crate) fn add(&mut self, place: Place, work: W, before: usize) {
        if before == 0 {
            self.ready.insert(place.clone());
        }
        let task = Task {
            stage: Stage::Waiting(work, before),
            kept_back: Vec::new(),
        };
        self.tasks.insert(place, task);
    }

    /// One of those that the work at `place` waits for is finished; `hand_over` gives it what it needs from there.
    pub(crate) fn release(&mut self, place: &Place, hand_over: impl FnOnce(&mut W)) {
        let Some(task) = self.tasks.get_mut(place) else {
            return;
        };
        if let Stage::Waiting(work, before) = &mut task.stage {
            hand_over(work);
            *before = before.saturating_sub(1);
            if *before == 0 {
                self.ready.insert(place.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests;
