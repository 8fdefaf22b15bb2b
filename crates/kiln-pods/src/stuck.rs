//! Pods that will not do: why, in Kubernetes' own words.
//!
//! What Kubernetes would try again for ever (pulling an image, starting a container, finding a node) counts as failed as
//! soon as it says so: somebody waits for the pod, and has a deadline.

use crate::state::{Fault, Lasts};
use crate::views::{ContainerStatus, PodView, Terminated};

/// Why a pod will not do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Trouble {
    /// One word, as Kubernetes has it.
    pub(crate) reason: String,
    /// What Kubernetes says about it.
    pub(crate) message: String,
    /// Whether another pod would have it too.
    pub(crate) lasts: Lasts,
}

impl From<Trouble> for Fault {
    fn from(trouble: Trouble) -> Fault {
        Fault {
            reason: trouble.reason.into(),
            message: trouble.message.into(),
            lasts: trouble.lasts,
        }
    }
}

/// Reasons of single pods: on another node, or a little later, the next may do better.
const OF_THE_POD: [&str; 8] = [
    "Evicted",
    "NodeLost",
    "NodeShutdown",
    "NodeAffinity",
    "Terminated",
    "Preempting",
    "UnexpectedAdmissionError",
    "ContainerStatusUnknown",
];

/// What containers wait for that are just starting; every other reason is one why they do not.
const HOPEFUL: [&str; 3] = ["", "ContainerCreating", "PodInitializing"];

/// Why a pod will not do; none if it may.
pub(crate) fn trouble(pod: &PodView) -> Option<Trouble> {
    let status = &pod.status;
    let statuses = || {
        status
            .init_container_statuses
            .iter()
            .chain(&status.container_statuses)
    };
    if status.phase == "Failed" {
        let of_container = statuses().find_map(ended);
        let of_pod = (!status.reason.is_empty()).then(|| new(&status.reason, &status.message));
        return of_pod
            .or(of_container)
            .or_else(|| Some(new("Failed", &status.message)));
    }
    if status.phase == "Succeeded" {
        return Some(new("Completed", "the wrapper ended"));
    }
    if let Some(trouble) = statuses().find_map(waits_in_vain) {
        return Some(trouble);
    }
    condition(pod, "PodScheduled", "False").filter(|trouble| trouble.reason == "Unschedulable")
}

/// What has become of a pod during a call that was lost; none as long as it seems well. `known` are the ends of containers that
/// were known before.
pub(crate) fn fate(pod: &PodView, known: &[Terminated]) -> Option<Fault> {
    let is_deleted = pod.metadata.deletion_timestamp.is_some();
    let deleted = || is_deleted.then(|| new("Deleted", "somebody has deleted the pod"));
    let mut news = endings(pod).filter(|(_, ended)| !known.contains(ended));
    let fate = trouble(pod)
        .or_else(|| condition(pod, "DisruptionTarget", "True"))
        .or_else(|| news.next().map(|(name, ended)| told_ending(name, ended)))
        .or_else(deleted)?;
    Some(fate.into())
}

/// The ends of a pod's containers, by name.
pub(crate) fn endings(pod: &PodView) -> impl Iterator<Item = (&str, &Terminated)> {
    pod.status.container_statuses.iter().flat_map(|status| {
        let states = [&status.state, &status.last_state].into_iter();
        states.filter_map(|state| Some((status.name.as_str(), state.terminated.as_ref()?)))
    })
}

/// Whether somebody is about to end a pod: it finishes what it does, and gets nothing new.
pub(crate) fn is_terminating(pod: &PodView) -> bool {
    let is_disrupted = condition(pod, "DisruptionTarget", "True").is_some();
    pod.metadata.deletion_timestamp.is_some() || is_disrupted
}

/// Whether a pod takes calls.
pub(crate) fn is_ready(pod: &PodView) -> bool {
    pod.status.phase == "Running"
        && !pod.status.pod_ip.is_empty()
        && condition(pod, "Ready", "True").is_some()
}

/// What a pod that may become ready still waits for.
pub(crate) fn waits_for(pod: &PodView) -> Option<String> {
    if is_ready(pod) || is_terminating(pod) {
        return None;
    }
    let status = &pod.status;
    let statuses = status.init_container_statuses.iter();
    let mut statuses = statuses.chain(&status.container_statuses);
    let waiting = statuses.find_map(|status| {
        let waiting = status.state.waiting.as_ref()?;
        Some(format!("container {}: {}", status.name, waiting.reason))
    });
    let unready = || {
        let unready = condition(pod, "Ready", "False")?;
        Some(format!("{}: {}", unready.reason, unready.message))
    };
    let is_placed = condition(pod, "PodScheduled", "True").is_some();
    let waits_for = waiting.or_else(unready);
    Some(
        waits_for
            .filter(|_| is_placed)
            .unwrap_or_else(|| "it has no node yet".to_owned()),
    )
}

/// Whether a pod is called unready only because nobody has heard of its node for a while, as after an outage of the API server.
/// Kubernetes then changes what it says of the pod and leaves what the node last said of its containers. Conditions that
/// others have to fulfil look the same, but for the reason.
pub(crate) fn is_only_unheard_of(pod: &PodView) -> bool {
    let mut conditions = pod.status.conditions.iter();
    let is_unready = |found: &crate::views::Condition| {
        found.kind == "Ready" && found.status != "True" && found.reason != "ReadinessGatesNotReady"
    };
    pod.status.phase == "Running"
        && conditions.any(is_unready)
        && condition(pod, "ContainersReady", "True").is_some()
}

fn condition(pod: &PodView, kind: &str, status: &str) -> Option<Trouble> {
    let mut conditions = pod.status.conditions.iter();
    let found = conditions.find(|found| found.kind == kind && found.status == status)?;
    Some(new(&found.reason, &found.message))
}

/// A container that Kubernetes would try again for ever.
fn waits_in_vain(status: &ContainerStatus) -> Option<Trouble> {
    // It is started again at once, and only then waits; the next time it is as likely as not to be the same.
    let was_killed = |state: &crate::views::ContainerState| {
        let ended = state.terminated.as_ref();
        ended.is_some_and(|ended| ended.reason == "OOMKilled")
    };
    if was_killed(&status.state) {
        return ended(status);
    }
    let waiting = status.state.waiting.as_ref()?;
    if HOPEFUL.contains(&waiting.reason.as_str()) {
        return None;
    }
    let mut trouble = new(&waiting.reason, &waiting.message);
    if let Some(last) = &status.last_state.terminated {
        if was_killed(&status.last_state) {
            trouble.reason.clone_from(&last.reason);
        }
        let name = &status.name;
        let said = match last.message.trim() {
            "" => String::new(),
            message => format!(": {message}"),
        };
        let (reason, code) = (&last.reason, last.exit_code);
        trouble.message = format!(
            "{}; container {name} ended before: {reason}, exit code {code}{said}",
            trouble.message
        );
    }
    Some(trouble)
}

/// A container that ended badly.
fn ended(status: &ContainerStatus) -> Option<Trouble> {
    let ended = status.state.terminated.as_ref()?;
    if ended.exit_code == 0 {
        return None;
    }
    Some(told_ending(&status.name, ended))
}

fn told_ending(name: &str, ended: &Terminated) -> Trouble {
    let code = ended.exit_code;
    let message = match ended.message.trim() {
        "" => format!("container {name} ended with exit code {code}"),
        message => format!("container {name} ended with exit code {code}: {message}"),
    };
    new(&ended.reason, &message)
}

fn new(reason: &str, message: &str) -> Trouble {
    let lasts = match OF_THE_POD.contains(&reason) {
        true => Lasts::No,
        false => Lasts::Yes,
    };
    Trouble {
        reason: reason.to_owned(),
        message: message.to_owned(),
        lasts,
    }
}

#[cfg(test)]
mod tests;
