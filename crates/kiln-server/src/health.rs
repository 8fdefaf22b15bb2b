//! Health checks: whether the server is alive, and whether it can run functions.
//!
//! Liveness probes use the name `""`: it serves until the server shuts down. The name of the service serves if, in
//! addition, any function can be run. The response also reports how long the server has been idle.

use std::pin::Pin;
use std::sync::Arc;

use kiln_proto::SERVICE;
use kiln_proto::idle::set_idle_time;
use tokio::sync::watch;
use tokio_stream::wrappers::WatchStream;
use tokio_stream::{Stream, StreamExt as _};
use tonic::{Request, Response, Status};
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::Health;
use tonic_health::pb::{HealthCheckRequest, HealthCheckResponse};

use crate::lifecycle::{Lifecycle, Phase};

pub(crate) struct HealthService {
    lifecycle: Arc<Lifecycle>,
    can_evaluate: watch::Receiver<bool>,
}

#[derive(Clone, Copy, Debug)]
enum HealthTarget {
    Server,
    Service,
    Unknown,
}

impl HealthService {
    pub(crate) fn new(
        lifecycle: Arc<Lifecycle>,
        can_evaluate: watch::Receiver<bool>,
    ) -> HealthService {
        HealthService {
            lifecycle,
            can_evaluate,
        }
    }
}

fn target(request: &Request<HealthCheckRequest>) -> HealthTarget {
    match request.get_ref().service.as_str() {
        "" => HealthTarget::Server,
        SERVICE => HealthTarget::Service,
        _ => HealthTarget::Unknown,
    }
}

fn response(target: HealthTarget, phase: Phase, can_evaluate: bool) -> HealthCheckResponse {
    let serves = phase == Phase::Serving;
    let status = match target {
        HealthTarget::Server if serves => ServingStatus::Serving as i32,
        HealthTarget::Service if serves && can_evaluate => ServingStatus::Serving as i32,
        HealthTarget::Server | HealthTarget::Service => ServingStatus::NotServing as i32,
        // SERVICE_UNKNOWN, which the enum of the crate does not have.
        HealthTarget::Unknown => 3,
    };
    HealthCheckResponse { status }
}

#[tonic::async_trait]
impl Health for HealthService {
    async fn check(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<HealthCheckResponse>, Status> {
        match target(&request) {
            HealthTarget::Unknown => Err(Status::not_found("unknown service")),
            known => {
                let phase = self.lifecycle.phase();
                let can_evaluate = *self.can_evaluate.borrow();
                let mut response = Response::new(response(known, phase, can_evaluate));
                set_idle_time(response.metadata_mut(), self.lifecycle.unused_for());
                Ok(response)
            }
        }
    }

    type WatchStream =
        Pin<Box<dyn Stream<Item = Result<HealthCheckResponse, Status>> + Send + 'static>>;

    async fn watch(
        &self,
        request: Request<HealthCheckRequest>,
    ) -> Result<Response<Self::WatchStream>, Status> {
        let target = target(&request);
        let phase = self.lifecycle.watch();
        let can_evaluate = self.can_evaluate.clone();
        // Either may change; the response always reflects both.
        let phases = WatchStream::new(phase.clone()).map(|_| ());
        let usable = WatchStream::new(can_evaluate.clone()).map(|_| ());
        let changes = phases
            .merge(usable)
            .map(move |()| (*phase.borrow(), *can_evaluate.borrow()));
        let changes = changes.take_while(|(phase, _)| *phase < Phase::Finishing);
        let mut last = None;
        let responses = changes.filter_map(move |(phase, can_evaluate)| {
            let response = response(target, phase, can_evaluate);
            let changed = last != Some(response.status);
            last = Some(response.status);
            changed.then_some(Ok(response))
        });
        Ok(Response::new(Box::pin(responses)))
    }
}
