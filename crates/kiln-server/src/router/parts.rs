//! The method for lists that are larger than a message. They arrive in parts and are evaluated when they are complete, as
//! those of the other method; the answer leaves in parts.
//!
//! Memory is charged for what has arrived, and for one part. A list does not go to a file meanwhile: evaluators need all
//! of it in memory, and the shares of connections and clients bound what slow ones take.

use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Request, Response};
use hyper::body::Incoming;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_proto::parts::{
    AddError, Content, MAX_PART_MESSAGE, Part, Parts, PartsBuffer, PartsError,
};
use kiln_proto::peer::PeerFacts;
use tokio::time::{Instant, timeout_at};
use tonic::body::Body;
use tonic::codec::{Codec as _, EncodeBody, SingleMessageCompressionOverride, Streaming};
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};
use tonic_prost::ProstCodec;

use super::{ArrivingCall, ResponseFuture, Router, not_received, refuse};
use crate::answer;
use crate::body::{ReceiveError, RequestLimits, SmallMessages};
use crate::connections::OpenConnection;
use crate::memory::MemoryCharge;
use crate::status;
use crate::streams;

impl Router {
    /// Answers a call in parts with lists of at most `limit` bytes.
    pub(super) fn evaluate_parts(
        &self,
        request: Request<Incoming>,
        connection: &Arc<OpenConnection>,
        limit: usize,
    ) -> ResponseFuture {
        let service = Arc::clone(&self.service);
        let limits = self.limits(limit);
        let peer = PeerFacts::of(request.headers());
        let connection = Arc::clone(connection);
        let Ok(arriving) = self.begin(&request, &connection, limit, peer.max_streamed) else {
            return refuse(&status::too_many_streams());
        };
        Box::pin(async move {
            let ArrivingCall {
                arrival,
                mut charge,
                stream,
                room,
            } = arriving;
            let (mut parts, body) = request.into_parts();
            let message = match receive(body, &limits, &mut charge).await {
                Ok(message) => message,
                Err(error) => return Ok(not_received(&error)),
            };
            let call = connection.begin_call();
            parts.extensions.insert(arrival);
            let metadata = MetadataMap::from_headers(parts.headers);
            let request = tonic::Request::from_parts(metadata, parts.extensions, message);
            let (response, size) = match service.evaluate(request).await {
                Ok(answer) => in_parts(answer),
                Err(status) => {
                    let size = status.details().len();
                    (status.into_http(), size)
                }
            };
            charge.replace(size);
            streams::end_stream_after(limits.time_for(size));
            Ok(answer::fit(response, room, (charge, stream, call)))
        })
    }
}

/// The request, once all its parts have arrived.
async fn receive(
    body: Incoming,
    limits: &RequestLimits,
    charge: &mut MemoryCharge,
) -> Result<EvaluateFunctionRequest, ReceiveError> {
    let begun = Instant::now();
    let pool_full = |size| ReceiveError::Refused(status::no_memory(size));
    charge
        .grow(MAX_PART_MESSAGE, MAX_PART_MESSAGE)
        .map_err(|_| pool_full(MAX_PART_MESSAGE))?;
    // Parts may be small, but then their heads must not be what is sent for the most part.
    let body = SmallMessages::new(body, (2 * limits.size).saturating_add(MAX_PART_MESSAGE));
    let decoder = ProstCodec::<Part, Part>::default().decoder();
    let mut parts = Streaming::new_request(decoder, body, None, Some(MAX_PART_MESSAGE));
    let mut buffer = PartsBuffer::new(limits.size);
    loop {
        let time = limits.time_for(buffer.announced());
        let part = match begun.checked_add(time) {
            Some(slow_at) => timeout_at(slow_at, parts.message()).await,
            None => Ok(parts.message().await),
        };
        let part =
            part.map_err(|_| ReceiveError::Refused(status::request_slow(buffer.len(), time)))?;
        let Some(part) = part.map_err(not_decoded)? else {
            return buffer.into_request().map_err(invalid);
        };
        if let Some(Content::Head(head)) = &part.content
            && let Some(size) = head.size()
            && size <= limits.size
            && !charge.would_fit(size)
        {
            return Err(pool_full(size));
        }
        let announced = buffer.announced();
        let added = buffer.add(part, |bytes| {
            let bytes = bytes.saturating_add(MAX_PART_MESSAGE);
            charge.grow(bytes, bytes.max(announced))
        });
        added.map_err(|error| match error {
            AddError::Invalid(error) => invalid(error),
            AddError::NoMemory(_) => pool_full(announced),
        })?;
    }
}

/// A part that did not arrive, or that is not one.
fn not_decoded(status: Status) -> ReceiveError {
    let is_broken = std::error::Error::source(&status).is_some();
    match status.code() {
        _ if is_broken => ReceiveError::Broken(status),
        Code::DeadlineExceeded | Code::ResourceExhausted => ReceiveError::Refused(status),
        _ => {
            let text = format!("malformed part: {}", status.message());
            ReceiveError::Refused(Status::invalid_argument(text))
        }
    }
}

fn invalid(error: PartsError) -> ReceiveError {
    ReceiveError::Refused(match error {
        PartsError::TooLarge { size, limit } => status::request_too_large(size, limit),
        error => Status::invalid_argument(format!("invalid request in parts: {error}")),
    })
}

/// The response for an answer, and the size of the answer.
fn in_parts(answer: tonic::Response<EvaluateFunctionResponse>) -> (Response<Body>, usize) {
    let (metadata, answer, _) = answer.into_parts();
    let size = answer.resource_list.len() + answer.log.len();
    let parts = tokio_stream::iter(Parts::of_answer(answer).map(Ok));
    let encoder = ProstCodec::<Part, Part>::default().encoder();
    let single = SingleMessageCompressionOverride::default();
    let body = EncodeBody::new_server(encoder, parts, None, single, None);
    let mut response = Response::new(Body::new(body));
    *response.headers_mut() = metadata.into_headers();
    let grpc = HeaderValue::from_static("application/grpc");
    response.headers_mut().insert(CONTENT_TYPE, grpc);
    (response, size)
}
