//! What kiln programs announce to each other in metadata, besides Porch's protocol: the largest message that each one
//! accepts, and that it understands gzip. Programs that do not know these headers ignore them.

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

/// Default size limit of messages between kiln programs, in bytes.
pub const DEFAULT_MAX_KILN_MESSAGE_SIZE: usize = 64 * 1024 * 1024;

/// The size limits of a program, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MessageLimits {
    /// For peers that announce no limit, as Porch's programs.
    pub porch: usize,
    /// For peers that announce one.
    pub kiln: usize,
}

impl MessageLimits {
    /// The limits for the value of a flag. Any value but the default is the limit for all peers.
    pub fn new(max_message_size: usize) -> MessageLimits {
        MessageLimits {
            porch: max_message_size,
            kiln: match max_message_size {
                DEFAULT_MAX_MESSAGE_SIZE => DEFAULT_MAX_KILN_MESSAGE_SIZE,
                other => other,
            },
        }
    }

    /// The same limits, with at most `bytes` for peers that announce a limit.
    pub fn at_most(self, bytes: usize) -> MessageLimits {
        MessageLimits {
            kiln: self.kiln.min(bytes).max(self.porch),
            ..self
        }
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

    /// Adds what this program accepts to the headers of a message.
    pub fn announce(&self, headers: &mut HeaderMap) {
        headers.insert(MAX_MESSAGE_METADATA, HeaderValue::from(self.kiln));
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
    pub accepts_gzip: bool,
}

impl PeerFacts {
    pub fn of(headers: &HeaderMap) -> PeerFacts {
        let max_message = headers.get(MAX_MESSAGE_METADATA);
        let max_message = max_message.and_then(|value| value.to_str().ok());
        PeerFacts {
            max_message: max_message.and_then(|text| text.parse().ok()),
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
