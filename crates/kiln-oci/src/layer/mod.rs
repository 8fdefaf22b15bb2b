//! Reads layers: tar archives, uncompressed or compressed with gzip or zstd.
//!
//! The media type decides whether a blob is a layer; its first bytes decide the compression, because some tools set the wrong
//! media type. Bytes are hashed while they are read, and a layer that does not have the diff ID of the image's config returns
//! an error in place of its end. Callers limit how much they read: a few bytes may decompress to gigabytes.

use std::error::Error;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::config::ImageConfig;
use crate::digest::{Digest, DigestHasher};
use crate::excerpt::excerpt;
use crate::media_type::is_layer;

/// How much is read at once.
const BUFFER: usize = 64 << 10;

/// Why a layer cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LayerFormatError {
    #[error("unsupported layer type {0:?}")]
    MediaType(String),
    #[error("the manifest has {layers} layers but the config has {diff_ids}")]
    Count { layers: usize, diff_ids: usize },
    #[error("the diff ID {0:?} in the config is not a digest")]
    DiffId(String),
}

/// Reads the tar archive of a layer.
pub struct LayerReader<'a> {
    archive: LayerSource<'a>,
    check: Option<(Digest, DigestHasher)>,
    end: Option<LayerEnd>,
}

/// The bytes of a layer.
enum LayerSource<'a> {
    /// Nothing was read yet, and the compression is not known.
    Unread(Box<dyn Read + 'a>),
    /// Decompresses what it reads.
    Archive(Box<dyn Read + 'a>),
}

#[derive(Clone, Copy)]
enum LayerEnd {
    Verified,
    Failed,
}

impl<'a> LayerReader<'a> {
    /// Decompresses the bytes of a layer while they are read. `diff_id` is the expected digest of the archive, if it is known.
    pub fn new(
        media_type: &str,
        bytes: &'a [u8],
        diff_id: Option<&Digest>,
    ) -> Result<LayerReader<'a>, LayerFormatError> {
        LayerReader::from_reader(media_type, bytes, diff_id)
    }

    /// The same for a layer that is not in memory.
    pub fn from_reader(
        media_type: &str,
        bytes: impl Read + 'a,
        diff_id: Option<&Digest>,
    ) -> Result<LayerReader<'a>, LayerFormatError> {
        if !is_layer(media_type) {
            return Err(LayerFormatError::MediaType(excerpt(media_type)));
        }
        Ok(LayerReader {
            archive: LayerSource::Unread(Box::new(bytes)),
            check: diff_id.map(|digest| (digest.clone(), digest.hasher())),
            end: None,
        })
    }

    /// Reads the archive. The first read finds out how it is compressed.
    fn read_archive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let LayerSource::Unread(bytes) = &mut self.archive {
            let mut start = Vec::new();
            bytes.by_ref().take(4).read_to_end(&mut start)?;
            let unread = LayerSource::Archive(Box::new(io::empty()));
            if let LayerSource::Unread(bytes) = std::mem::replace(&mut self.archive, unread) {
                self.archive = LayerSource::Archive(decompressed(start, bytes));
            }
        }
        match &mut self.archive {
            LayerSource::Archive(archive) | LayerSource::Unread(archive) => archive.read(buffer),
        }
    }

    fn read_verified(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.read_archive(buffer)?;
        if let (Some((_, hasher)), Some(bytes)) = (&mut self.check, buffer.get(..read)) {
            hasher.update(bytes);
        }
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        if let Some((expected, hasher)) = self.check.take() {
            let actual = hasher.finish();
            if actual != expected {
                let message = format!(
                    "the decompressed layer should have digest {expected} but has {actual}"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
        }
        self.end = Some(LayerEnd::Verified);
        Ok(0)
    }
}

impl Read for LayerReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.end {
            None => {}
            Some(LayerEnd::Verified) => return Ok(0),
            Some(LayerEnd::Failed) => return Err(io::Error::other("the layer is damaged")),
        }
        let read = self.read_verified(buffer);
        let is_final = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
        if read.as_ref().is_err_and(is_final) {
            self.end = Some(LayerEnd::Failed);
        }
        read
    }
}

impl ImageConfig {
    /// The diff IDs of the layers, lowest first. The config of an artifact that is not an image has none.
    pub fn diff_ids(&self, layers: usize) -> Result<Vec<Option<Digest>>, LayerFormatError> {
        let diff_ids = &self.rootfs.diff_ids;
        if diff_ids.is_empty() {
            return Ok(vec![None; layers]);
        }
        if diff_ids.len() != layers {
            return Err(LayerFormatError::Count {
                layers,
                diff_ids: diff_ids.len(),
            });
        }
        let digest = |text: &String| {
            let digest = text.parse::<Digest>();
            digest
                .map(Some)
                .map_err(|_| LayerFormatError::DiffId(excerpt(text)))
        };
        diff_ids.iter().map(digest).collect()
    }
}

/// Decompresses a layer by its first bytes.
fn decompressed<'a>(start: Vec<u8>, rest: Box<dyn Read + 'a>) -> Box<dyn Read + 'a> {
    let first: [u8; 4] = std::array::from_fn(|index| start.get(index).copied().unwrap_or(0));
    let whole = BufReader::with_capacity(BUFFER, io::Cursor::new(start).chain(rest));
    match first {
        [0x1f, 0x8b, ..] => Box::new(MultiGzDecoder::new(whole)),
        [0x28, 0xb5, 0x2f, 0xfd] | [0x50..=0x5f, 0x2a, 0x4d, 0x18] => Box::new(ZstdFrames {
            compressed: whole,
            decoder: FrameDecoder::new(),
        }),
        _ => Box::new(whole),
    }
}

/// Decompresses zstd: consecutive frames, with skippable frames between them.
struct ZstdFrames<R> {
    compressed: R,
    decoder: FrameDecoder,
}

impl<R: BufRead> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(buffer);
            }
            if !self.decoder.is_finished() {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                let decoded = self.decoder.decode_blocks(&mut self.compressed, one);
                decoded.map_err(invalid_data)?;
                continue;
            }
            if self.compressed.fill_buf()?.is_empty() {
                return Ok(0);
            }
            match self.decoder.reset(&mut self.compressed) {
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    let length = u64::from(length);
                    let mut frame = self.compressed.by_ref().take(length);
                    if io::copy(&mut frame, &mut io::sink())? < length {
                        return Err(io::ErrorKind::UnexpectedEof.into());
                    }
                }
                begun => begun.map_err(invalid_data)?,
            }
        }
    }
}

/// The texts of the decoder's errors are for its developers.
fn invalid_data(error: FrameDecoderError) -> io::Error {
    if let FrameDecoderError::WindowSizeTooBig { requested, max } = error {
        let text = format!(
            "the window of its zstd data has {requested} bytes, at most {max} are supported"
        );
        return io::Error::new(io::ErrorKind::InvalidData, text);
    }
    let mut cause: Option<&(dyn Error + 'static)> = Some(&error);
    while let Some(error) = cause {
        match error.downcast_ref::<io::Error>() {
            Some(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                return io::Error::new(error.kind(), "its zstd data ends early");
            }
            Some(error) => return io::Error::new(error.kind(), error.to_string()),
            None => cause = error.source(),
        }
    }
    io::Error::new(io::ErrorKind::InvalidData, "its zstd data is invalid")
}

#[cfg(test)]
mod tests;
