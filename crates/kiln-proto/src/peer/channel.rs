//! The connection of a client: announces what the client accepts, remembers what the peer announces, and compresses for
//! peers that understand it.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{BufMut as _, Bytes, BytesMut};
use http::{Request, Response};
use http_body::Frame;
use http_body_util::BodyExt as _;
use tokio::task::spawn_blocking;
use tonic::Status;
use tonic::body::Body;
use tonic::transport::Channel;
use tower_service::Service;

use super::frames::FramesThenBody;
use super::gzip::{self, DecompressError, HEAD};
use super::{KnownPeer, MessageLimits, PeerFacts};
use crate::parts::STREAMING_PATH;

/// A connection that knows its peer. The first request is plain, because the peer is unknown.
#[derive(Clone, Debug)]
pub struct PeerChannel {
    channel: Channel,
    limits: MessageLimits,
    peer: KnownPeer,
}

impl PeerChannel {
    pub fn new(channel: Channel, limits: MessageLimits) -> PeerChannel {
        PeerChannel {
            channel,
            limits,
            peer: KnownPeer::default(),
        }
    }

    /// What the last response announced.
    pub fn peer(&self) -> Option<PeerFacts> {
        self.peer.facts()
    }

    pub fn limits(&self) -> MessageLimits {
        self.limits
    }

    /// Forgets what was announced: another program may answer now.
    pub fn forget_peer(&self) {
        self.peer.set(None);
    }
}

type BoxError = Box<dyn Error + Send + Sync>;

impl Service<Request<Body>> for PeerChannel {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.channel.poll_ready(cx).map_err(BoxError::from)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        // The clone is not ready; the one that was polled is.
        let clone = self.channel.clone();
        let mut channel = std::mem::replace(&mut self.channel, clone);
        let peer = self.peer.clone();
        let limits = self.limits;
        limits.announce(request.headers_mut());
        Box::pin(async move {
            // Parts are sent as they are: their body is not one message.
            let is_one_message = request.uri().path() != STREAMING_PATH;
            let accepts_gzip = peer.facts().is_some_and(|facts| facts.accepts_gzip);
            if is_one_message && accepts_gzip {
                let (mut parts, body) = request.into_parts();
                let (body, _) = gzip::compress_body(&mut parts.headers, body).await;
                request = Request::from_parts(parts, body);
            }
            let response = channel.call(request).await?;
            peer.set(Some(PeerFacts::of(response.headers())));
            Ok(decompressed(response, limits.kiln).await?)
        })
    }
}

/// The response without compression. One that is compressed is read to its end.
async fn decompressed(response: Response<Body>, limit: usize) -> Result<Response<Body>, Status> {
    let (mut parts, mut body) = response.into_parts();
    if !gzip::take_encoding(&mut parts.headers) {
        return Ok(Response::from_parts(parts, body));
    }
    let mut message = BytesMut::new();
    let mut end = None;
    while let Some(frame) = body.frame().await {
        match frame?.into_data() {
            Ok(data) if message.len() + data.len() > limit.saturating_add(HEAD) => {
                return Err(too_large(message.len() + data.len(), limit));
            }
            Ok(data) => message.put(data),
            Err(trailers) => end = Some(Ok(trailers)),
        }
    }
    let message = match gzip::is_compressed(&message) {
        true => decompress(message.freeze(), limit).await?,
        false => message.freeze(),
    };
    let data = (!message.is_empty()).then(|| Ok(Frame::data(message)));
    let frames = data.into_iter().chain(end);
    let body = FramesThenBody::body(frames, Body::empty());
    Ok(Response::from_parts(parts, body))
}

async fn decompress(message: Bytes, limit: usize) -> Result<Bytes, Status> {
    let work = move || gzip::decompress(&message, limit, |_| Ok::<_, Infallible>(()));
    let done = spawn_blocking(work).await;
    let done = done.map_err(|_| Status::internal("the response cannot be decompressed"))?;
    done.map_err(|error| match error {
        DecompressError::TooLarge { limit } => too_large(limit.saturating_add(1), limit),
        DecompressError::Invalid(error) => {
            Status::internal(format!("the response is not valid gzip: {error}"))
        }
        DecompressError::NoMemory(never) => match never {},
    })
}

/// In the transport's own words, as for a message that is not compressed.
fn too_large(size: usize, limit: usize) -> Status {
    Status::out_of_range(format!(
        "Error, decoded message length too large: found {size} bytes, the limit is: {limit} bytes"
    ))
}
