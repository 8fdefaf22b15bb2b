//! Layers unpacked: tar archives, as they are or packed with gzip or zstd.
//!
//! The media type tells whether something is a layer; how it is packed is told by its first bytes, because not everybody who
//! packs a layer otherwise says so. What is read is hashed on the way, and a layer that is not what the image's config says
//! has an error in place of its end. How much of it is read is the reader's to decide: a few bytes can be packed gigabytes.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::config::ImageConfig;
use crate::digest::{Digest, Hasher};
use crate::media_type::is_layer;
use crate::said::clipped;

/// What is at hand of a layer is none, or not of this image.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LayerError {
    /// It is something else.
    #[error("layers of type {0:?} are not read")]
    MediaType(String),
    /// The config speaks of another number of layers.
    #[error("the manifest has {layers} layers but the config {diff_ids}")]
    Count {
        /// How many the manifest has.
        layers: usize,
        /// How many the config has.
        diff_ids: usize,
    },
    /// The config names a layer by what is no digest.
    #[error("the config names the layer {0:?}, which is no digest")]
    DiffId(String),
}

/// The archive in a layer.
pub struct LayerReader<'a> {
    archive: Box<dyn Read + 'a>,
    check: Option<(Digest, Hasher)>,
    end: Option<End>,
}

#[derive(Clone, Copy)]
enum End {
    Right,
    Failed,
}

impl<'a> LayerReader<'a> {
    /// Unpacks the bytes of a layer while they are read. `diff_id` is what the archive has to hash to, if that is known.
    pub fn new(
        media_type: &str,
        bytes: &'a [u8],
        diff_id: Option<&Digest>,
    ) -> Result<LayerReader<'a>, LayerError> {
        if !is_layer(media_type) {
            return Err(LayerError::MediaType(clipped(media_type)));
        }
        let archive: Box<dyn Read + 'a> = match bytes {
            [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(bytes)),
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => {
                Box::new(Frames {
                    packed: bytes,
                    decoder: FrameDecoder::new(),
                })
            }
            bytes => Box::new(bytes),
        };
        Ok(LayerReader {
            archive,
            check: diff_id.map(|digest| (digest.clone(), digest.hasher())),
            end: None,
        })
    }

    fn read_on(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.archive.read(buffer)?;
        if let (Some((_, hasher)), Some(bytes)) = (&mut self.check, buffer.get(..read)) {
            hasher.update(bytes);
        }
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        if let Some((expected, hasher)) = self.check.take() {
            let actual = hasher.finish();
            if actual != expected {
                let message =
                    format!("the layer should unpack to {expected} but unpacks to {actual}");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        self.end = Some(End::Right);
        Ok(0)
    }
}

impl Read for LayerReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.end {
            None => {}
            Some(End::Right) => return Ok(0),
            Some(End::Failed) => return Err(io::Error::other("the layer is damaged")),
        }
        let read = self.read_on(buffer);
        let is_over = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        if read.as_ref().is_err_and(is_over) {
            self.end = Some(End::Failed);
        }
        read
    }
}

impl ImageConfig {
    /// What so many layers have to unpack to, the lowest first. A config that is of no image, but of something else that is
    /// kept as images are, says nothing about it.
    pub fn diff_ids(&self, layers: usize) -> Result<Vec<Option<Digest>>, LayerError> {
        let named = &self.rootfs.diff_ids;
        if named.is_empty() {
            return Ok(vec![None; layers]);
        }
        if named.len() != layers {
            return Err(LayerError::Count {
                layers,
                diff_ids: named.len(),
            });
        }
        let digest = |text: &String| {
            let digest = text.parse::<Digest>();
            digest
                .map(Some)
                .map_err(|_| LayerError::DiffId(clipped(text)))
        };
        named.iter().map(digest).collect()
    }
}

/// Zstd: frames one after the other, between them some that are to be skipped.
struct Frames<'a> {
    packed: &'a [u8],
    decoder: FrameDecoder,
}

impl Read for Frames<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.packed, one);
                decoded.map_err(damaged)?;
                continue;
            }
            if self.packed.is_empty() {
                return Ok(0);
            }
            match self.decoder.reset(&mut self.packed) {
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let rest = usize::try_from(length)
                        .ok()
                        .and_then(|length| self.packed.get(length..));
                    self.packed = rest.ok_or(io::ErrorKind::UnexpectedEof)?;
                }
                begun => begun.map_err(damaged)?,
            }
        }
    }
}

fn damaged(error: FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

#[cfg(test)]
mod tests;
