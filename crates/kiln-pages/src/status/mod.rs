//! The status page of a function runner: health, functions, calls, pods, replicas and settings.
//!
//! No page shows an input or an output of a function. Names and messages come from callers and are only text here.

mod html;
mod model;
mod request;

pub use model::{
    BucketStatus, CallStatus, ClassCount, ColdStartStatus, ColdStartStep, FailureStatus,
    FunctionStatus, KnownPods, LaneStatus, LimitStatus, PodRow, PodsStatus, PoolStatus,
    ReplicaStatus, RunningStatus, STATUS_VERSION, ServiceHealth, SettingStatus, StatusModel,
    WatchStatus, WindowStatus,
};
pub use request::{StatusReply, StatusRequest, page_headers};
