//! Interprets the status of a pod.
//!
//! What Kubernetes would retry forever (pulling an image, starting a container, scheduling) counts as a failure at
//! once, because a caller with a deadline waits for the pod.

use crate::kube::views::{ContainerStatus, ContainerTerminated, PodView};
use crate::pool::{FaultScope, PodFault};

/// Why a pod cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PodProblem {
    /// One word, as in Kubernetes.
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) scope: FaultScope,
}

impl From<PodProblem> for PodFault {
    fn from(problem: PodProblem) -> PodFault {
        PodFault {
            reason: problem.reason.into(),
            message: problem.message.into(),
            scope: problem.scope,
        }
    }
}

/// Reasons that concern a single pod: another pod may work on another node or later.
const POD_SCOPED_REASONS: [&str; 8] = [
    "Evicted",
    "NodeLost",
    "NodeShutdown",
    "NodeAffinity",
    "Terminated",
    "Preempting",
    "UnexpectedAdmissionError",
    "ContainerStatusUnknown",
];

/// Why a container waits while it starts; any other reason is a problem.
const STARTING_REASONS: [&str; 3] = ["", "ContainerCreating", "PodInitializing"];

/// Why a pod cannot be used; `None` if it may become ready.
pub(crate) fn problem(pod: &PodView) -> Option<PodProblem> {
    let status = &pod.status;
    let statuses = || {
        status
            .init_container_statuses
            .iter()
            .chain(&status.container_statuses)
    };
    if status.phase == "Failed" {
        let of_container = statuses().find_map(failed_container);
        let of_pod = (!status.reason.is_empty()).then(|| new(&status.reason, &status.message));
        return of_pod
            .or(of_container)
            .or_else(|| Some(new("Failed", &status.message)));
    }
    if status.phase == "Succeeded" {
        return Some(new("Completed", "the wrapper server has exited"));
    }
    if let Some(problem) = statuses().find_map(stuck_container) {
        return Some(problem);
    }
    condition(pod, "PodScheduled", "False").filter(|problem| problem.reason == "Unschedulable")
}

/// Why a call was lost, according to the pod's status; `None` if nothing is wrong with the pod. `known` holds the
/// terminations that were known before the call.
pub(crate) fn lost_call_reason(pod: &PodView, known: &[ContainerTerminated]) -> Option<PodFault> {
    let is_deleted = pod.metadata.deletion_timestamp.is_some();
    let deleted = || is_deleted.then(|| new("Deleted", "the pod was deleted"));
    let mut news = terminations(pod).filter(|(_, ended)| !known.contains(ended));
    let lost_call_reason = problem(pod)
        .or_else(|| condition(pod, "DisruptionTarget", "True"))
        .or_else(|| {
            news.next()
                .map(|(name, ended)| termination_problem(name, ended))
        })
        .or_else(deleted)?;
    Some(lost_call_reason.into())
}

/// The terminations of a pod's containers, with the names of the containers.
pub(crate) fn terminations(pod: &PodView) -> impl Iterator<Item = (&str, &ContainerTerminated)> {
    pod.status.container_statuses.iter().flat_map(|status| {
        let states = [&status.state, &status.last_state].into_iter();
        states.filter_map(|state| Some((status.name.as_str(), state.terminated.as_ref()?)))
    })
}

/// Whether a pod is being deleted or evicted: it finishes its calls and gets no new ones.
pub(crate) fn is_terminating(pod: &PodView) -> bool {
    let is_disrupted = condition(pod, "DisruptionTarget", "True").is_some();
    pod.metadata.deletion_timestamp.is_some() || is_disrupted
}

pub(crate) fn is_ready(pod: &PodView) -> bool {
    pod.status.phase == "Running"
        && !pod.status.pod_ip.is_empty()
        && condition(pod, "Ready", "True").is_some()
}

/// Why a pod is not ready yet.
pub(crate) fn not_ready_reason(pod: &PodView) -> Option<String> {
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
    let not_ready_reason = waiting.or_else(unready);
    Some(
        not_ready_reason
            .filter(|_| is_placed)
            .unwrap_or_else(|| "not scheduled yet".to_owned()),
    )
}

/// Whether a pod is unready only because its node has not reported for a while, for example after an outage of the API
/// server. Kubernetes then changes the Ready condition and leaves ContainersReady as it was. Unfulfilled readiness
/// gates look the same except for the reason.
pub(crate) fn only_node_status_is_stale(pod: &PodView) -> bool {
    let mut conditions = pod.status.conditions.iter();
    let is_unready = |found: &crate::kube::views::PodCondition| {
        found.kind == "Ready" && found.status != "True" && found.reason != "ReadinessGatesNotReady"
    };
    pod.status.phase == "Running"
        && conditions.any(is_unready)
        && condition(pod, "ContainersReady", "True").is_some()
}

fn condition(pod: &PodView, kind: &str, status: &str) -> Option<PodProblem> {
    let mut conditions = pod.status.conditions.iter();
    let found = conditions.find(|found| found.kind == kind && found.status == status)?;
    Some(new(&found.reason, &found.message))
}

/// The problem of a container that Kubernetes would restart forever.
fn stuck_container(status: &ContainerStatus) -> Option<PodProblem> {
    // The container is restarted at once and enters backoff later; it is likely to be killed again.
    let was_killed = |state: &crate::kube::views::ContainerState| {
        let ended = state.terminated.as_ref();
        ended.is_some_and(|ended| ended.reason == "OOMKilled")
    };
    if was_killed(&status.state) {
        return failed_container(status);
    }
    let waiting = status.state.waiting.as_ref()?;
    if STARTING_REASONS.contains(&waiting.reason.as_str()) {
        return None;
    }
    let mut problem = new(&waiting.reason, &waiting.message);
    if let Some(last) = &status.last_state.terminated {
        if was_killed(&status.last_state) {
            problem.reason.clone_from(&last.reason);
        }
        let name = &status.name;
        let details = match last.message.trim() {
            "" => String::new(),
            message => format!(": {message}"),
        };
        let (reason, code) = (&last.reason, last.exit_code);
        problem.message = format!(
            "{}; container {name} previously exited: {reason}, exit code {code}{details}",
            problem.message
        );
    }
    Some(problem)
}

/// The problem of a container with a non-zero exit code.
fn failed_container(status: &ContainerStatus) -> Option<PodProblem> {
    let ended = status.state.terminated.as_ref()?;
    if ended.exit_code == 0 {
        return None;
    }
    Some(termination_problem(&status.name, ended))
}

fn termination_problem(name: &str, ended: &ContainerTerminated) -> PodProblem {
    let code = ended.exit_code;
    let message = match ended.message.trim() {
        "" => format!("container {name} exited with code {code}"),
        message => format!("container {name} exited with code {code}: {message}"),
    };
    new(&ended.reason, &message)
}

fn new(reason: &str, message: &str) -> PodProblem {
    let scope = match POD_SCOPED_REASONS.contains(&reason) {
        true => FaultScope::Pod,
        false => FaultScope::Image,
    };
    PodProblem {
        reason: reason.to_owned(),
        message: message.to_owned(),
        scope,
    }
}

#[cfg(test)]
mod tests;
