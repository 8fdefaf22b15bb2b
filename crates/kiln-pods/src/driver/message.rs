//! What the driver is sent. The list is closed: nothing else makes it do anything.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::api::ApiError;
use crate::cache_config::CacheEntry;
use crate::connection::{Client, Connection};
use crate::function_config::FunctionConfig;
use crate::state::{Event, Failure, ImageKey, PodId, RequestId, Version};
use crate::views::{EndpointSliceView, LeaseView, ObjectView, PodView, ServiceView};
use crate::watch::Seen;

/// Something that the driver should know.
pub(crate) enum Message {
    /// Somebody wants a function run, and is told where here.
    Request {
        request: RequestId,
        image: ImageKey,
        reply: UnboundedSender<Assignment>,
    },
    /// Something that the machine should know.
    Tell(Event),
    /// A pod is about to be created under a name.
    Named { pod: PodId, name: String },
    /// A pod has been created.
    Created {
        pod: PodId,
        image: ImageKey,
        version: Version,
    },
    /// There is a connection to a pod.
    Dialled { pod: PodId, connection: Connection },
    /// There is no connection to a pod, for the time being or for good.
    NotDialled {
        pod: PodId,
        trouble: String,
        outlook: Outlook,
    },
    /// What keeps a pod from being there.
    Trouble { pod: PodId, trouble: String },
    /// A pod is ours now.
    Adopted(PodId),
    /// What an image's reference stands for.
    Resolved { image: ImageKey, digest: String },
    /// The file of settings has changed.
    Cache(Vec<CacheEntry>),
    /// Our lease was renewed, or not.
    Renewed(Result<(), ApiError>),
    /// A watch has seen something.
    Seen(Box<AnySeen>),
    /// It is time to end; whoever waits for that is told.
    Drain(oneshot::Sender<()>),
}

/// What becomes of an attempt to connect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Outlook {
    /// It goes on.
    TriesAgain,
    /// It is over.
    GivesUp,
}

/// What watches see.
#[expect(
    clippy::large_enum_variant,
    reason = "messages have it in a box, and few of them wait at a time"
)]
pub(crate) enum AnySeen {
    Pods(Seen<PodView>),
    Services(Seen<ServiceView>),
    Slices(Seen<EndpointSliceView>),
    Leases(Seen<LeaseView>),
    ConfigMap(Seen<ObjectView>),
    PodTemplate(Seen<ObjectView>),
    ServiceTemplate(Seen<ObjectView>),
    Configs(Seen<FunctionConfig>),
}

/// What becomes of a request.
pub(crate) enum Assignment {
    /// A pod is to be called.
    Go(Client),
    /// There is none yet, for this reason.
    Trouble(Arc<str>),
    /// There is none.
    Fail(Failure),
}
