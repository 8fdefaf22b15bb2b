//! What kiln programs announce to each other in metadata, besides Porch's protocol: the largest message that each one
//! accepts, the largest list in parts, and that it understands gzip. Programs that do not know these headers ignore them.

mod channel;
mod frames;
pub mod gzip;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use http::{HeaderMap, HeaderName, HeaderValue};

pub use channel::PeerChannel;

use crate::DEFAULT_MAX_MESSAGE_SIZE;

/// The size in bytes of the largest message that the sender of this header accepts; in requests and in responses.
pub const MAX_MESSAGE_METADATA: HeaderName = HeaderName::from_static("kiln-max-message");

/// The size in bytes of the largest list that the sender of this header accepts in parts ([`crate::parts`]).
pub const MAX_STREAMED_METADATA: HeaderName = HeaderName::from_static("kiln-max-streamed");

/// Default size limit of messages between kiln programs, in bytes.
pub const DEFAULT_MAX_KILN_MESSAGE_SIZE: usize = 64 * 1024 * 1024;

/// Default size limit of lists in parts, in bytes.
pub const DEFAULT_MAX_STREAMED_SIZE: usize = 256 * 1024 * 1024;

/// The size limits of a program, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageLimits {
    /// For peers that announce no limit, as Porch's programs.
    pub porch: usize,
    /// For peers that announce one.
    pub kiln: usize,
    /// For lists in parts, with their logs. Without effect unless it is larger than `kiln`.
    pub streamed: usize,
}

impl MessageLimits {
    /// The limits for the value of a flag. Any value but the default is the limit for all peers, also in parts.
    pub fn new(max_message_size: usize) -> MessageLimits {
        let (kiln, streamed) = match max_message_size {
            DEFAULT_MAX_MESSAGE_SIZE => (DEFAULT_MAX_KILN_MESSAGE_SIZE, DEFAULT_MAX_STREAMED_SIZE),
            other => (other, other),
        };
        MessageLimits {
            porch: max_message_size,
            kiln,
            streamed,
        }
    }

    /// The same limits for a server that has `bytes` for all messages: an eighth of them is not for lists in parts.
    pub fn within(self, bytes: usize) -> MessageLimits {
        let kiln = self.kiln.min(bytes).max(self.porch);
        MessageLimits {
            kiln,
            streamed: self.streamed.min(bytes - bytes / 8).max(kiln),
            ..self
        }
    }

    /// The limit of lists in parts; `None` if they could not be larger than a message.
    pub fn streamed(&self) -> Option<usize> {
        (self.streamed > self.kiln).then_some(self.streamed)
    }

    /// The limit of messages from a peer.
    pub fn receiving(&self, peer: PeerFacts) -> usize {
        match peer.max_message {
            Some(_) => self.kiln,
            None => self.porch,
        }
    }

    /// The limit of messages to a peer.
    pub fn sending(&self, peer: PeerFacts) -> usize {
        match peer.max_message {
            Some(theirs) => theirs.min(self.kiln),
            None => self.porch,
        }
    }

    /// The limit of lists in parts to a peer; `None` if one of the two does not accept them.
    pub fn sending_streamed(&self, peer: PeerFacts) -> Option<usize> {
        Some(self.streamed()?.min(peer.max_streamed?))
    }

    /// Adds what this program accepts to the headers of a message.
    pub fn announce(&self, headers: &mut HeaderMap) {
        headers.insert(MAX_MESSAGE_METADATA, HeaderValue::from(self.kiln));
        if let Some(streamed) = self.streamed() {
            headers.insert(MAX_STREAMED_METADATA, HeaderValue::from(streamed));
        }
        headers.insert(
            gzip::ACCEPT_ENCODING,
            HeaderValue::from_static(gzip::ENCODING),
        );
    }
}

/// What a peer announces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PeerFacts {
    /// The largest message that it accepts; `None` if it is not a kiln program.
    pub max_message: Option<usize>,
    /// The largest list that it accepts in parts; `None` if it accepts none.
    pub max_streamed: Option<usize>,
    pub accepts_gzip: bool,
}

impl PeerFacts {
    pub fn of(headers: &HeaderMap) -> PeerFacts {
        let size = |name| headers.get(name)?.to_str().ok()?.parse().ok();
        PeerFacts {
            max_message: size(MAX_MESSAGE_METADATA),
            max_streamed: size(MAX_STREAMED_METADATA),
            accepts_gzip: gzip::is_accepted(headers),
        }
    }
}

/// What the last response of a peer announced. Clones are the same peer.
#[derive(Clone, Debug, Default)]
pub struct KnownPeer(Arc<Mutex<Option<PeerFacts>>>);

impl KnownPeer {
    /// `None` until the peer has responded.
    pub fn facts(&self) -> Option<PeerFacts> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, facts: Option<PeerFacts>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = facts;
    }
}
