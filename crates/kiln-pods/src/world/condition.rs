//! How a pod is, all things considered.

use super::{Entry, Notice};
use crate::address::{AddressMode, Place};
use crate::state::{Event, Fault, PodId};
use crate::stuck::{is_only_unheard_of, is_ready, is_terminating, trouble};

/// How a pod is. One that was never seen is not gone.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) enum Condition {
    #[default]
    Unseen,
    Starting,
    Reachable(Place),
    Terminating,
    Failed(Fault),
    Gone,
}

impl Condition {
    /// How the pod of an entry is, by what is known of it now, in whatever order that was heard.
    pub(super) fn of(
        entry: &Entry,
        mode: AddressMode,
        place: impl FnOnce(&str, Option<&str>) -> Place,
    ) -> Condition {
        let Some(pod) = &entry.pod else {
            return match entry.told {
                Condition::Unseen => Condition::Unseen,
                _ => Condition::Gone,
            };
        };
        if is_terminating(pod) {
            return Condition::Terminating;
        }
        if let Some(trouble) = trouble(pod) {
            return Condition::Failed(trouble.into());
        }
        let ip = pod.status.pod_ip.as_str();
        let has_way = mode == AddressMode::PodIp || entry.service.is_some();
        let is_reachable = match entry.was_reached_at(ip) {
            // The connection is there, whatever has become of the endpoint: what counts is how the pod itself is.
            true => is_ready(pod) || is_only_unheard_of(pod),
            false => is_ready(pod) && (mode == AddressMode::PodIp || entry.has_endpoint(ip)),
        };
        if !has_way || !is_reachable {
            return Condition::Starting;
        }
        let cluster_ip = entry
            .service
            .as_ref()
            .map(|service| service.spec.cluster_ip.as_str());
        Condition::Reachable(place(ip, cluster_ip))
    }

    /// What is to be said of it.
    pub(super) fn notice(&self, pod: PodId, before: &Condition) -> Option<Notice> {
        let event = match self {
            Condition::Unseen => return None,
            Condition::Reachable(place) => return Some(Notice::Reachable(pod, place.clone())),
            Condition::Starting if matches!(before, Condition::Reachable(_)) => {
                Event::Unready { pod }
            }
            Condition::Starting => return None,
            Condition::Terminating => Event::Terminating { pod },
            Condition::Failed(fault) => Event::Failed {
                pod,
                fault: fault.clone(),
            },
            Condition::Gone => Event::Gone { pod },
        };
        Some(Notice::Tell(event))
    }
}
