//! The one task that owns the pool, and everything it has others do.
//!
//! It takes all messages that are there, tells the machine, and has commands carried out by tasks of their own, which send
//! what comes of it. It waits for nothing but messages and time.

mod create;
mod dialling;
mod hands;
mod house;
mod loss;
mod message;
mod observe;
mod sight;
mod start;
mod warmth;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};
use tokio::sync::{oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::connection::Connection;
use crate::plans::Plans;
use crate::replicas::Replicas;
use crate::state::{
    Command, Event, Failure, Fault, ImageKey, Lasts, Moment, PodId, Pool, RequestId, Started,
};
use crate::world::{Holder, Notice, World};
use hands::Hands;
use house::House;
use loss::{Loss, Sent};
pub(crate) use message::{Assignment, Message};
use sight::Sight;
use warmth::Warmth;

/// How many messages are taken before time is looked at.
const BATCH: usize = 256;

/// A request, and where it is told what becomes of it.
struct Asked {
    image: ImageKey,
    /// Where it was sent last.
    sent: Option<Sent>,
    reply: UnboundedSender<Assignment>,
}

/// The owner of the pool.
pub(crate) struct Driver {
    pool: Pool,
    world: World,
    replicas: Replicas,
    plans: Plans,
    sight: Sight,
    house: House,
    warmth: Warmth,
    requests: HashMap<RequestId, Asked>,
    losses: Vec<Loss>,
    connections: HashMap<PodId, Connection>,
    dials: HashMap<PodId, AbortHandle>,
    /// Dropping one of these stops the creation of a pod.
    creations: HashMap<PodId, oneshot::Sender<()>>,
    hands: Arc<Hands>,
    jobs: JoinSet<()>,
    usable: watch::Sender<bool>,
    /// Has all watches begin anew.
    anew: watch::Sender<()>,
    ending: Option<oneshot::Sender<()>>,
    began: Instant,
}

impl Driver {
    /// Works until it is told to end.
    async fn run(mut self, mut messages: UnboundedReceiver<Message>) {
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            let wake = self.next_wake();
            tokio::select! {
                _ = messages.recv_many(&mut batch, BATCH) => (),
                () = tokio::time::sleep_until(wake) => (),
                Some(_) = self.jobs.join_next() => (),
            }
            for message in batch.drain(..) {
                self.take(message);
            }
            self.keep_house();
            self.judge_sight();
            self.explain_losses();
            if self.is_done() {
                break;
            }
        }
        if let Err(error) = self.hands.drop_lease().await {
            tracing::warn!("our lease could not be deleted: {error}");
        } else {
            self.hands.drop_pull_secret().await;
        }
        if let Some(ending) = self.ending {
            // Nobody need wait for it.
            let _ = ending.send(());
        }
    }

    /// Everything has been given back, and nobody works any more.
    fn is_done(&self) -> bool {
        self.ending.is_some() && self.requests.is_empty() && self.jobs.is_empty()
    }

    fn now(&self) -> Moment {
        Moment(self.began.elapsed())
    }

    fn next_wake(&self) -> Instant {
        let tick = self
            .pool
            .next_tick()
            .map(|Moment(after)| self.began + after);
        // Not more often than need be, whatever the machine wants.
        let soonest = Instant::now() + Duration::from_millis(10);
        let due = [Some(self.house.next()), tick, self.next_loss()];
        let next = due.into_iter().flatten().min();
        next.unwrap_or(soonest).max(soonest)
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Request {
                request,
                image,
                reply,
            } => {
                let plan = self.plans.plan(&image);
                let asked = Asked {
                    image: image.clone(),
                    sent: None,
                    reply,
                };
                self.requests.insert(request, asked);
                self.tell(Event::Request {
                    request,
                    image,
                    plan,
                });
            }
            Message::Tell(event) => {
                if let Event::Over { request } = event {
                    self.requests.remove(&request);
                    self.losses.retain(|loss| !loss.is_of(request));
                }
                self.tell(event);
            }
            Message::Named { pod, name } => self.world.name(pod, &name),
            Message::Created {
                pod,
                image,
                version,
            } => {
                if let Some(digest) = &version.digest {
                    self.learn_digest(&image, &Arc::clone(digest));
                }
                self.tell(Event::Created { pod, version });
            }
            Message::Dialled { pod, connection } => self.dialled(pod, connection),
            Message::NotDialled {
                pod,
                trouble,
                outlook,
            } => self.not_dialled(pod, &trouble, outlook),
            Message::Trouble { pod, trouble } => self.tell_waiters(pod, trouble.into()),
            Message::Adopted(pod) => {
                self.world.set_holder(pod, Holder::Us);
                self.tell(Event::Adopted { pod });
                let notices = self.world.look_again(pod);
                self.follow(notices);
            }
            Message::Resolved { image, digest } => self.learn_digest(&image, &digest),
            Message::Cache(entries) => {
                self.plans.set_cache(&entries);
                self.renew_plans();
                self.warm_up();
            }
            Message::Renewed(outcome) => self.see_renewal(outcome),
            Message::Seen(seen) => self.observe(*seen),
            Message::Drain(ending) => {
                self.ending = Some(ending);
                self.tell(Event::Drain);
            }
        }
    }

    /// Tells the machine, and has done what it says.
    fn tell(&mut self, event: Event) {
        let mut events = VecDeque::from([event]);
        while let Some(event) = events.pop_front() {
            let now = self.now();
            if let Event::Failed { pod, fault } = &event {
                let name = self.world.name_of(*pod).unwrap_or("(no name yet)");
                let image = self.pool.image_of(*pod).map(ImageKey::as_str);
                tracing::warn!(pod = name, image, "a pod will not do: {fault}");
            }
            if let Event::Unready { pod } | Event::Gone { pod } = &event {
                self.hang_up(*pod);
            }
            for command in self.pool.handle(now, event) {
                self.carry_out(command, &mut events);
            }
        }
    }

    /// What follows from what was seen.
    fn follow(&mut self, notices: Vec<Notice>) {
        for notice in notices {
            match notice {
                Notice::Tell(event) => self.tell(event),
                Notice::Reachable(pod, place) => self.dial(pod, place),
                Notice::Stranger(name) => self.judge_stranger(&name),
                Notice::Moved(pod) => self.judge_moved(pod),
            }
        }
    }

    fn carry_out(&mut self, command: Command, events: &mut VecDeque<Event>) {
        match command {
            Command::Start { request, pod } => {
                let Some(asked) = self.requests.get_mut(&request) else {
                    return;
                };
                asked.sent = Some(Sent::new(pod, &self.world));
                let reply = &asked.reply;
                match self.connections.get(&pod) {
                    // One that has given up meanwhile says so itself.
                    Some(Connection { client, .. }) => {
                        drop(reply.send(Assignment::Go(client.clone())));
                    }
                    None => events.push_back(Event::Lost {
                        request,
                        started: Started::No,
                        fault: not_connected(),
                    }),
                }
            }
            Command::Fail {
                request,
                failure: Failure::Interrupted(fault),
            } => {
                self.mourn(request, fault);
            }
            Command::Fail { request, failure } => self.fail(request, failure),
            Command::Create { pod, image, .. } => self.create(pod, image, events),
            Command::Check { pod } => {
                let notices = self.world.look_again(pod);
                for notice in notices {
                    match notice {
                        Notice::Tell(event) => events.push_back(event),
                        other => self.follow(vec![other]),
                    }
                }
            }
            Command::Delete { pod } => self.delete(pod, events),
            Command::Forget { pod } => {
                self.hang_up(pod);
                self.connections.remove(&pod);
                self.creations.remove(&pod);
                self.world.forget(pod);
            }
            Command::RestoreService { pod } => self.restore_service(pod),
            Command::DeleteService { pod } => {
                if let Some(name) = self.world.name_of(pod).map(str::to_owned) {
                    let uid = self
                        .world
                        .service(&name)
                        .map(|service| service.metadata.uid.clone());
                    self.spawn(|hands| async move { hands.delete_service(&name, uid).await });
                }
            }
            Command::Annotate { pod, reclaim_in } => {
                if let Some(name) = self.world.name_of(pod).map(str::to_owned) {
                    self.spawn(|hands| async move { hands.annotate(&name, reclaim_in).await });
                }
            }
            Command::Adopt { pod } => self.with_pod(pod, events, |hands, view| async move {
                hands.adopt(pod, view).await;
            }),
            Command::Collect { pod } => self.with_pod(pod, events, |hands, view| async move {
                hands.collect(pod, view).await;
            }),
            Command::Ask { pod } => self.ask(pod, events),
            Command::Release { pod } => self.with_pod(pod, events, |hands, view| async move {
                hands.release(view).await;
            }),
        }
    }

    fn fail(&self, request: RequestId, failure: Failure) {
        if let Some(Asked { reply, .. }) = self.requests.get(&request) {
            // One that has given up meanwhile says so itself.
            let _ = reply.send(Assignment::Fail(failure));
        }
    }

    fn create(&mut self, pod: PodId, image: ImageKey, events: &mut VecDeque<Event>) {
        let recipe = match self.plans.recipe(image.as_str()) {
            Ok(recipe) => recipe,
            Err(reason) => {
                let fault = Fault {
                    reason: "InvalidTemplate".into(),
                    message: reason.into(),
                    lasts: Lasts::Yes,
                };
                return events.push_back(Event::Failed { pod, fault });
            }
        };
        let plan = self.plans.plan(&image);
        let (stop, stopped) = oneshot::channel();
        self.creations.insert(pod, stop);
        self.spawn(|hands| create::create(hands, pod, image, recipe, plan.settings, stopped));
    }

    fn delete(&mut self, pod: PodId, events: &mut VecDeque<Event>) {
        if let Some(creation) = self.creations.remove(&pod)
            && creation.send(()).is_ok()
        {
            // Whoever was creating it deletes what there is of it, and says so.
            return;
        }
        let Some(name) = self.world.name_of(pod).map(str::to_owned) else {
            return events.push_back(Event::Gone { pod });
        };
        let uid = self.world.pod(&name).map(|view| view.metadata.uid.clone());
        self.spawn(|hands| async move { hands.delete_pod(pod, &name, uid).await });
    }

    fn restore_service(&mut self, pod: PodId) {
        let Some(view) = self.view(pod) else {
            return;
        };
        match self.plans.templates.current() {
            Ok(templates) => self.spawn(|hands| async move {
                let created =
                    hands.create_service(&templates, &view.metadata.name, &view.metadata.uid);
                if let Err(error) = created.await {
                    let fault = error.fault("cannot create the service of the pod again");
                    hands.tell(Event::Failed { pod, fault });
                }
            }),
            Err(reason) => tracing::error!("cannot create a service: {reason}"),
        }
    }

    fn view(&self, pod: PodId) -> Option<crate::views::PodView> {
        let name = self.world.name_of(pod)?;
        self.world.pod(name).cloned()
    }

    /// Does something to a pod that is there.
    fn with_pod<F>(
        &mut self,
        pod: PodId,
        events: &mut VecDeque<Event>,
        job: impl FnOnce(Arc<Hands>, crate::views::PodView) -> F,
    ) where
        F: Future<Output = ()> + Send + 'static,
    {
        match self.view(pod) {
            Some(view) => self.spawn(|hands| job(hands, view)),
            None => events.push_back(Event::Gone { pod }),
        }
    }

    fn spawn<F>(&mut self, job: impl FnOnce(Arc<Hands>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.jobs.spawn(job(Arc::clone(&self.hands)));
    }
}

fn not_connected() -> Fault {
    Fault {
        reason: "ConnectionLost".into(),
        message: "there is no connection to the pod".into(),
        lasts: Lasts::No,
    }
}

#[cfg(test)]
mod tests;
