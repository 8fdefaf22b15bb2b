//! The state of a pod, derived from all watches.

use super::{Notice, PodEntry};
use crate::connection::address::{AddressMode, PodAddress};
use crate::kube::pod_status::{is_ready, is_terminating, only_node_status_is_stale, problem};
use crate::pool::{PodFault, PodId, PoolEvent};

/// The state of a pod. A pod that was never seen is not gone.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) enum PodState {
    #[default]
    Unseen,
    Starting,
    Reachable(PodAddress),
    Terminating,
    Failed(PodFault),
    Gone,
}

impl PodState {
    /// The state of an entry. It does not depend on the order of updates.
    pub(super) fn of(
        entry: &PodEntry,
        mode: AddressMode,
        address: impl FnOnce(&str, Option<&str>) -> PodAddress,
    ) -> PodState {
        let Some(pod) = &entry.pod else {
            return match entry.reported {
                PodState::Unseen => PodState::Unseen,
                _ => PodState::Gone,
            };
        };
        if is_terminating(pod) {
            return PodState::Terminating;
        }
        if let Some(problem) = problem(pod) {
            return PodState::Failed(problem.into());
        }
        let ip = pod.status.pod_ip.as_str();
        let has_address = mode == AddressMode::PodIp || entry.service.is_some();
        let is_reachable = match entry.was_reached_at(ip) {
            // The connection exists, so only the state of the pod itself matters, not the endpoint.
            true => is_ready(pod) || only_node_status_is_stale(pod),
            false => is_ready(pod) && (mode == AddressMode::PodIp || entry.has_endpoint(ip)),
        };
        if !has_address || !is_reachable {
            return PodState::Starting;
        }
        let cluster_ip = entry
            .service
            .as_ref()
            .map(|service| service.spec.cluster_ip.as_str());
        PodState::Reachable(address(ip, cluster_ip))
    }

    /// What the driver has to do when a pod enters this state.
    pub(super) fn notice(&self, pod: PodId, before: &PodState) -> Option<Notice> {
        let event = match self {
            PodState::Unseen => return None,
            PodState::Reachable(address) => return Some(Notice::Reachable(pod, address.clone())),
            PodState::Starting if matches!(before, PodState::Reachable(_)) => {
                PoolEvent::Unready { pod }
            }
            PodState::Starting => return None,
            PodState::Terminating => PoolEvent::Terminating { pod },
            PodState::Failed(fault) => PoolEvent::Failed {
                pod,
                fault: fault.clone(),
            },
            PodState::Gone => PoolEvent::Gone { pod },
        };
        Some(Notice::Event(event))
    }
}
