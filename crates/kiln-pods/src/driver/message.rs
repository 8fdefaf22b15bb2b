//! The messages that the driver handles. The list is closed: nothing else makes it act.

use std::sync::Arc;

use kiln_proto::client::EvaluatorClient;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::config::cache_config::CacheEntry;
use crate::config::function_config::FunctionConfig;
use crate::connection::PodConnection;
use crate::kube::api::ApiError;
use crate::kube::views::{EndpointSliceView, LeaseView, ObjectView, PodView, ServiceView};
use crate::kube::watch::WatchUpdate;
use crate::pool::{ImageKey, PodId, PodVersion, PoolEvent, RequestFailure, RequestId};
use crate::snapshot::PodsSnapshot;

/// A message to the driver.
pub(crate) enum Message {
    /// A caller wants to run a function; `reply` gets the assignments.
    Request {
        request: RequestId,
        image: ImageKey,
        reply: UnboundedSender<Assignment>,
    },
    /// An event for the state machine.
    Event(PoolEvent),
    /// A pod is about to be created under this name.
    PodNamed {
        pod: PodId,
        name: String,
    },
    Created {
        pod: PodId,
        image: ImageKey,
        version: PodVersion,
    },
    /// A connection to a pod was established.
    Connected {
        pod: PodId,
        connection: PodConnection,
    },
    /// A connection attempt failed.
    ConnectFailed {
        pod: PodId,
        reason: String,
        outcome: ConnectOutcome,
    },
    /// The creation of a pod is delayed.
    PodDelayed {
        pod: PodId,
        reason: String,
    },
    /// This replica has adopted a pod.
    Adopted(PodId),
    Resolved {
        image: ImageKey,
        digest: String,
    },
    /// The pod cache config file has changed.
    CacheConfig(Vec<CacheEntry>),
    /// The result of a lease renewal.
    LeaseRenewed(Result<(), ApiError>),
    /// A watch has reported something.
    Watched(Box<AnyUpdate>),
    /// Return what is known about pods and replicas.
    Snapshot(oneshot::Sender<PodsSnapshot>),
    /// Drain the pools; the sender is notified when that is done.
    Drain(oneshot::Sender<()>),
}

/// What happens after a failed connection attempt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ConnectOutcome {
    WillRetry,
    GaveUp,
}

/// An update of any watched kind.
#[expect(
    clippy::large_enum_variant,
    reason = "messages box it, and few of them are queued at a time"
)]
pub(crate) enum AnyUpdate {
    Pods(WatchUpdate<PodView>),
    Services(WatchUpdate<ServiceView>),
    Slices(WatchUpdate<EndpointSliceView>),
    Leases(WatchUpdate<LeaseView>),
    ConfigMap(WatchUpdate<ObjectView>),
    PodTemplate(WatchUpdate<ObjectView>),
    ServiceTemplate(WatchUpdate<ObjectView>),
    Configs(WatchUpdate<FunctionConfig>),
}

/// What happens to a request.
pub(crate) enum Assignment {
    /// A pod, and the digest of its image if it is known.
    Pod(EvaluatorClient, Option<Arc<str>>),
    /// The request has to wait, for this reason.
    Delayed(Arc<str>),
    Fail(RequestFailure),
}
