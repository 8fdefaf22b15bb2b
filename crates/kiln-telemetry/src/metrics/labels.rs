//! Labels of metrics.

use std::collections::BTreeMap;
use std::sync::Arc;

use kiln_server::Lane;
use prometheus_client::encoding::EncodeLabelSet;
use tonic::Code;

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct FunctionLabels {
    pub(super) image: Arc<str>,
    pub(super) evaluator: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct CallLabels {
    pub(super) image: Arc<str>,
    pub(super) evaluator: &'static str,
    pub(super) code: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct FailureLabels {
    pub(super) image: Arc<str>,
    pub(super) class: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct CacheLabels {
    pub(super) outcome: &'static str,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, EncodeLabelSet)]
pub(super) struct LaneLabels {
    lane: &'static str,
}

impl From<Lane> for LaneLabels {
    fn from(lane: Lane) -> LaneLabels {
        LaneLabels { lane: lane.name() }
    }
}

/// The attributes of a resource as labels with valid Prometheus names, each name once.
pub(super) fn of_resource(resource: &[(String, String)]) -> Vec<(String, String)> {
    let label = |name: &str| -> String {
        let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        let name: String = name.chars().map(allowed).collect();
        if name.starts_with(|c: char| c.is_ascii_digit()) {
            format!("_{name}")
        } else {
            name
        }
    };
    let pairs = resource
        .iter()
        .map(|(name, value)| (label(name), value.clone()));
    let labels: BTreeMap<String, String> = pairs.collect();
    labels.into_iter().collect()
}

/// The cause of a failed call.
pub(crate) fn failure_class(code: Code) -> &'static str {
    match code {
        Code::Internal => "function",
        Code::DeadlineExceeded => "deadline",
        Code::Cancelled => "cancelled",
        Code::Unavailable => "infrastructure",
        Code::InvalidArgument => "input",
        Code::NotFound => "not_found",
        Code::ResourceExhausted => "limit",
        Code::PermissionDenied => "policy",
        _ => "unexpected",
    }
}

/// The name of a status code in the gRPC specification.
pub(crate) fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
