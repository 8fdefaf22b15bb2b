//! Tasks that several threads do in parallel, with the result of doing them in order.
//!
//! A thread always begins the first task that is ready. So the first unfinished task never lacks a thread, and a task
//! that waits for its turn waits for one in progress. The calling thread takes finished tasks in order and logs their
//! events; those of the first unfinished task are logged at once. After a failure, later tasks are cancelled or not
//! begun. Earlier ones go on, because the failure that is reported is the first in order.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use kiln_runtime::CancelToken;

use crate::log::{Event, Log};
use crate::task::{EarlierFailure, TaskOrder};

/// Tasks `T` with results `R`.
pub(crate) struct TaskQueue<T, R> {
    state: Mutex<QueueState<T, R>>,
    /// Signals threads: a task is ready, it is a task's turn, or nothing is left.
    threads: Condvar,
    /// Signals the calling thread: a task has ended, or the first one has events.
    caller: Condvar,
}

struct QueueState<T, R> {
    /// All tasks that the calling thread has not taken.
    tasks: BTreeMap<TaskOrder, QueuedTask<T, R>>,
    ready: BTreeSet<TaskOrder>,
    running: usize,
    /// Later tasks than this one are not wanted.
    failed: Option<TaskOrder>,
}

struct QueuedTask<T, R> {
    stage: Stage<T, R>,
    events: Vec<Event>,
}

enum Stage<T, R> {
    Waiting { task: T, sub_packages: usize },
    Running(CancelToken),
    Ended(R),
}

/// A task that must be done and then postponed or ended.
pub(crate) struct Begun<T> {
    pub(crate) order: TaskOrder,
    pub(crate) task: T,
    /// Cancelled when an earlier task fails.
    pub(crate) cancel: CancelToken,
}

/// What the calling thread must do next.
pub(crate) enum Next<T, R> {
    Log(Vec<Event>),
    Take(TaskOrder, R),
    AddThread,
    Do(Begun<T>),
}

impl<T, R> TaskQueue<T, R> {
    pub(crate) fn new(root: T) -> TaskQueue<T, R> {
        let mut state = QueueState {
            tasks: BTreeMap::new(),
            ready: BTreeSet::new(),
            running: 0,
            failed: None,
        };
        state.add(TaskOrder::root(), root);
        TaskQueue {
            state: Mutex::new(state),
            threads: Condvar::new(),
            caller: Condvar::new(),
        }
    }

    /// For the calling thread: waits for the next thing to do. `None` if nothing is left.
    ///
    /// As long as only one task can be done at a time, the calling thread does it.
    pub(crate) fn next(&self, threads: usize, max_threads: usize) -> Option<Next<T, R>> {
        let mut state = self.lock();
        loop {
            let mut first = state.tasks.first_entry()?;
            let events = std::mem::take(&mut first.get_mut().events);
            if !events.is_empty() {
                return Some(Next::Log(events));
            }
            if matches!(first.get().stage, Stage::Ended(_)) {
                let (order, ended) = first.remove_entry();
                self.threads.notify_all();
                if let Stage::Ended(result) = ended.stage {
                    return Some(Next::Take(order, result));
                }
            }
            let parallel = state.running + state.ready.len();
            if threads < max_threads && parallel > threads.max(1) {
                return Some(Next::AddThread);
            }
            if threads == 0 {
                return state.begin().map(Next::Do);
            }
            state = wait(&self.caller, state);
        }
    }

    /// For threads: begins the first ready task, waiting for one if necessary. `None` if nothing is left.
    pub(crate) fn begin(&self) -> Option<Begun<T>> {
        let mut state = self.lock();
        loop {
            if let Some(begun) = state.begin() {
                return Some(begun);
            }
            if state.running == 0 {
                return None;
            }
            state = wait(&self.threads, state);
        }
    }

    /// Puts a task back until those of its sub-packages have succeeded.
    pub(crate) fn postpone(&self, order: &TaskOrder, task: T, sub_packages: Vec<T>) {
        let mut state = self.lock();
        let stage = Stage::Waiting {
            task,
            sub_packages: sub_packages.len(),
        };
        if !state.is_after_failure(order) {
            for (number, sub_package) in sub_packages.into_iter().enumerate() {
                state.add(order.sub_package(number), sub_package);
            }
        }
        self.leave(state, order, stage);
    }

    /// Ends a task; `pass_output` gives its output to the task of the parent package, together with its number there.
    pub(crate) fn succeed(
        &self,
        order: &TaskOrder,
        result: R,
        pass_output: impl FnOnce(&mut T, usize),
    ) {
        let mut state = self.lock();
        if let Some((parent, number)) = order.parent()
            && let Some(waiting) = state.tasks.get_mut(&parent)
            && let Stage::Waiting { task, sub_packages } = &mut waiting.stage
        {
            pass_output(task, number);
            *sub_packages = sub_packages.saturating_sub(1);
            if *sub_packages == 0 && !state.is_after_failure(&parent) {
                state.ready.insert(parent);
            }
        }
        self.leave(state, order, Stage::Ended(result));
    }

    pub(crate) fn fail(&self, order: &TaskOrder, result: R) {
        let mut state = self.lock();
        if !state.is_after_failure(order) {
            state.stop_after(order);
        }
        self.leave(state, order, Stage::Ended(result));
    }

    /// Begins no more tasks and cancels the running ones.
    pub(crate) fn stop(&self) {
        self.lock().stop_after(&TaskOrder::BEFORE_ALL);
        self.threads.notify_all();
    }

    /// Removes a task that waits for sub-packages.
    pub(crate) fn remove_waiting(&self, order: &TaskOrder) -> Option<T> {
        match self.lock().tasks.remove(order)?.stage {
            Stage::Waiting { task, .. } => Some(task),
            Stage::Running(_) | Stage::Ended(_) => None,
        }
    }

    fn leave(
        &self,
        mut state: MutexGuard<'_, QueueState<T, R>>,
        order: &TaskOrder,
        stage: Stage<T, R>,
    ) {
        state.running = state.running.saturating_sub(1);
        if let Some(task) = state.tasks.get_mut(order) {
            task.stage = stage;
        }
        self.threads.notify_all();
        self.caller.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, QueueState<T, R>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn wait<'a, S>(condition: &Condvar, guard: MutexGuard<'a, S>) -> MutexGuard<'a, S> {
    let waited = condition.wait(guard);
    waited.unwrap_or_else(PoisonError::into_inner)
}

impl<T, R> QueueState<T, R> {
    fn add(&mut self, order: TaskOrder, task: T) {
        self.ready.insert(order.clone());
        let task = QueuedTask {
            stage: Stage::Waiting {
                task,
                sub_packages: 0,
            },
            events: Vec::new(),
        };
        self.tasks.insert(order, task);
    }

    fn begin(&mut self) -> Option<Begun<T>> {
        let order = self.ready.pop_first()?;
        let waiting = self.tasks.get_mut(&order)?;
        let cancel = CancelToken::new();
        let running = Stage::Running(cancel.clone());
        let Stage::Waiting { task, .. } = std::mem::replace(&mut waiting.stage, running) else {
            return None;
        };
        self.running += 1;
        Some(Begun {
            order,
            task,
            cancel,
        })
    }

    fn stop_after(&mut self, order: &TaskOrder) {
        self.failed = Some(order.clone());
        self.ready.split_off(order);
        for (_, task) in self.tasks.range(order..) {
            if let Stage::Running(cancel) = &task.stage {
                cancel.cancel();
            }
        }
    }

    fn is_first(&self, order: &TaskOrder) -> bool {
        let first = self.tasks.first_key_value();
        first.is_some_and(|(first, _)| first == order)
    }

    fn is_after_failure(&self, order: &TaskOrder) -> bool {
        self.failed.as_ref().is_some_and(|failed| failed < order)
    }
}

/// How a running task logs and waits for its turn.
pub(crate) struct TaskHandle<'a, T, R> {
    pub(crate) queue: &'a TaskQueue<T, R>,
    pub(crate) order: &'a TaskOrder,
}

impl<T, R> TaskHandle<'_, T, R> {
    pub(crate) fn await_turn(&self) -> Result<(), EarlierFailure> {
        let mut state = self.queue.lock();
        loop {
            if state.is_after_failure(self.order) {
                return Err(EarlierFailure);
            }
            if state.is_first(self.order) {
                return Ok(());
            }
            state = wait(&self.queue.threads, state);
        }
    }
}

impl<T, R> Log for TaskHandle<'_, T, R> {
    fn event(&self, event: Event) {
        let mut state = self.queue.lock();
        if let Some(task) = state.tasks.get_mut(self.order) {
            task.events.push(event);
        }
        if state.is_first(self.order) {
            self.queue.caller.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
