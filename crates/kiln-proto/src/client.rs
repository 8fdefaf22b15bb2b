//! The client of an evaluator, with the limits that both sides have.

use std::convert::Infallible;
use std::time::Duration;

use http::uri::PathAndQuery;
use prost::Message as _;
use tonic::client::Grpc;
use tonic::metadata::{MetadataMap, MetadataValue};
use tonic::transport::Channel;
use tonic::{Code, Request, Response, Status};
use tonic_prost::ProstCodec;

use crate::evaluator::function_evaluator_client::FunctionEvaluatorClient;
use crate::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use crate::failure::ROOM_METADATA;
use crate::parts::{
    AddError, MAX_PART_MESSAGE, Parts, PartsBuffer, PartsError, StreamingEvaluatorClient,
};
use crate::peer::{MessageLimits, PeerChannel, PeerFacts, gzip};
use crate::transport::{room, was_not_sent};

/// Time limit of a health check.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(5);

/// Calls a function runner or a wrapper. Clones share the connection and what is known about the peer.
#[derive(Clone, Debug)]
pub struct EvaluatorClient {
    channel: PeerChannel,
}

/// Why a call has no response.
#[derive(Debug)]
pub enum CallError {
    /// The request exceeds a limit and was not sent.
    TooLarge(TooLarge),
    Status(Box<Status>),
}

/// A request that exceeds a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLarge {
    pub size: usize,
    pub limit: usize,
    /// The limit that the peer announced.
    pub announced: Option<usize>,
}

impl From<Status> for CallError {
    fn from(status: Status) -> CallError {
        CallError::Status(Box::new(status))
    }
}

impl EvaluatorClient {
    pub fn new(channel: Channel, limits: MessageLimits) -> EvaluatorClient {
        EvaluatorClient {
            channel: PeerChannel::new(channel, limits),
        }
    }

    /// Calls the peer: with one message, or in parts if that would be too large for the peer. A request that is too large
    /// for both is not sent.
    pub async fn evaluate(
        &self,
        message: EvaluateFunctionRequest,
        mut metadata: MetadataMap,
    ) -> Result<Response<EvaluateFunctionResponse>, CallError> {
        let room = room(self.channel.limits().porch);
        metadata.insert(ROOM_METADATA, MetadataValue::from(room));
        let size = message.encoded_len();
        if let Method::Parts = self.method(size).await? {
            return self.send_parts(message, metadata, size).await;
        }
        let peer = self.channel.peer().unwrap_or_default();
        let is_compressed = peer.accepts_gzip && size > gzip::MIN_SIZE;
        match self.send(message.clone(), metadata.clone()).await {
            // The peer was replaced by one that cannot read the request, so the function did not run.
            Err(status) if is_compressed && status.code() == Code::Unimplemented => {
                self.channel.forget_peer();
                Ok(self.send(message, metadata).await?)
            }
            answer => Ok(answer?),
        }
    }

    async fn send(
        &self,
        message: EvaluateFunctionRequest,
        metadata: MetadataMap,
    ) -> Result<Response<EvaluateFunctionResponse>, Status> {
        let mut request = Request::new(message);
        *request.metadata_mut() = metadata;
        // The size of the request was checked.
        FunctionEvaluatorClient::new(self.channel.clone())
            .max_decoding_message_size(self.channel.limits().kiln)
            .evaluate_function(request)
            .await
    }

    /// Sends a request in parts to a peer that accepts them, and puts the answer together.
    async fn send_parts(
        &self,
        message: EvaluateFunctionRequest,
        metadata: MetadataMap,
        size: usize,
    ) -> Result<Response<EvaluateFunctionResponse>, CallError> {
        let parts = tokio_stream::iter(Parts::of_request(message));
        let mut request = Request::new(parts);
        *request.metadata_mut() = metadata;
        let response = StreamingEvaluatorClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_PART_MESSAGE)
            .evaluate(request)
            .await;
        let (metadata, mut parts, extensions) = match response {
            Ok(response) => response.into_parts(),
            // The peer was replaced by one that does not have the method, so the function did not run.
            Err(status) if status.code() == Code::Unimplemented => {
                self.channel.forget_peer();
                return Err(too_large(size, self.channel.limits().porch, None));
            }
            Err(status) => return Err(status.into()),
        };
        let mut answer = PartsBuffer::new(self.channel.limits().streamed);
        while let Some(part) = parts.message().await? {
            let added = answer.add(part, |_| Ok::<_, Infallible>(()));
            added.map_err(|error| match error {
                AddError::Invalid(error) => invalid_answer(error),
                AddError::NoMemory(never) => match never {},
            })?;
        }
        let answer = answer.into_answer().map_err(invalid_answer)?;
        Ok(Response::from_parts(metadata, answer, extensions))
    }

    /// How to send a message of `size` bytes. Asks an unknown peer for its limits before it gets a message that Porch's
    /// programs would refuse.
    async fn method(&self, size: usize) -> Result<Method, CallError> {
        let limits = self.channel.limits();
        let mut peer = self.channel.peer();
        let largest = limits.streamed().unwrap_or(limits.kiln);
        if peer.is_none() && size > limits.porch && size <= largest {
            match self.check_health().await {
                Err(status) if was_not_sent(&status) => return Err(status.into()),
                _ => peer = self.channel.peer(),
            }
        }
        let Some(peer) = peer else {
            return Method::choose(size, limits.porch, PeerFacts::default(), None);
        };
        let streamed = limits.sending_streamed(peer);
        Method::choose(size, limits.sending(peer), peer, streamed)
    }

    /// The metadata of a health check.
    pub async fn check_health(&self) -> Result<MetadataMap, Status> {
        let mut grpc = Grpc::new(self.channel.clone());
        let ready = grpc.ready().await;
        ready.map_err(Status::from_error)?;
        // An empty request asks for the health of the whole server, and only the metadata of the response matters.
        let codec = ProstCodec::<(), ()>::default();
        let path = PathAndQuery::from_static("/grpc.health.v1.Health/Check");
        let mut request = Request::new(());
        request.set_timeout(HEALTH_TIMEOUT);
        let (metadata, ..) = grpc.unary(request, path, codec).await?.into_parts();
        Ok(metadata)
    }
}

/// How a request is sent.
enum Method {
    Message,
    Parts,
}

impl Method {
    /// The method for `size` bytes, if the peer accepts messages up to `limit` and lists in parts up to `streamed`.
    fn choose(
        size: usize,
        limit: usize,
        peer: PeerFacts,
        streamed: Option<usize>,
    ) -> Result<Method, CallError> {
        match streamed {
            _ if size <= limit => Ok(Method::Message),
            Some(streamed) if size <= streamed => Ok(Method::Parts),
            Some(streamed) => Err(too_large(size, streamed, peer.max_streamed)),
            None => Err(too_large(size, limit, peer.max_message)),
        }
    }
}

fn too_large(size: usize, limit: usize, announced: Option<usize>) -> CallError {
    CallError::TooLarge(TooLarge {
        size,
        limit,
        announced,
    })
}

fn invalid_answer(error: PartsError) -> Status {
    let text = format!("the response cannot be put together: {error}");
    match error {
        PartsError::TooLarge { .. } => Status::resource_exhausted(text),
        _ => Status::internal(text),
    }
}
