//! The client of an evaluator, with the limits that both sides have.

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

    /// Calls the peer. A request that is too large for it is not sent.
    pub async fn evaluate(
        &self,
        message: EvaluateFunctionRequest,
        mut metadata: MetadataMap,
    ) -> Result<Response<EvaluateFunctionResponse>, CallError> {
        let room = room(self.channel.limits().porch);
        metadata.insert(ROOM_METADATA, MetadataValue::from(room));
        let size = message.encoded_len();
        self.check_size(size).await?;
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

    /// Asks an unknown peer for its limit before it gets a message that Porch's programs would refuse.
    async fn check_size(&self, size: usize) -> Result<(), CallError> {
        let limits = self.channel.limits();
        let mut peer = self.channel.peer();
        if peer.is_none() && size > limits.porch && size <= limits.kiln {
            match self.check_health().await {
                Err(status) if was_not_sent(&status) => return Err(status.into()),
                _ => peer = self.channel.peer(),
            }
        }
        let Some(peer) = peer else {
            return within(size, limits.porch, PeerFacts::default());
        };
        within(size, limits.sending(peer), peer)
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

fn within(size: usize, limit: usize, peer: PeerFacts) -> Result<(), CallError> {
    match size <= limit {
        true => Ok(()),
        false => Err(CallError::TooLarge(TooLarge {
            size,
            limit,
            announced: peer.max_message,
        })),
    }
}
