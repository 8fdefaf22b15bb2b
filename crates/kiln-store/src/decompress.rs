//! Decompresses a layer on a thread of its own, while the calling thread unpacks it.

use std::fs::File;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use kiln_oci::{Digest, LayerFormatError, LayerReader};

/// How much is passed between the threads at once, and how many pieces may wait.
const PIECE: usize = 256 << 10;
const WAITING: usize = 8;
/// A smaller layer is not worth a thread.
const SMALL: u64 = 256 << 10;

/// A packed layer.
pub(crate) struct PackedLayer<'a> {
    pub(crate) blob: File,
    pub(crate) media_type: &'a str,
    pub(crate) size: u64,
    /// The expected digest of the archive.
    pub(crate) diff_id: Option<&'a Digest>,
}

/// A piece of the archive, empty at its end.
type LayerPiece = io::Result<Vec<u8>>;

impl PackedLayer<'_> {
    /// Passes the archive of the layer to `unpack`.
    pub(crate) fn decompress<T>(
        self,
        unpack: impl FnOnce(&mut dyn Read) -> T,
    ) -> Result<T, LayerFormatError> {
        let PackedLayer {
            blob,
            media_type,
            size,
            diff_id,
        } = self;
        if size < SMALL {
            let mut reader = LayerReader::from_reader(media_type, blob, diff_id)?;
            return Ok(unpack(&mut reader));
        }
        // Before the thread, because only the caller can return this error.
        LayerReader::from_reader(media_type, io::empty(), diff_id)?;
        let (sender, receiver) = sync_channel(WAITING);
        let mut pieces = Pieces {
            receiver,
            piece: Vec::new(),
            at: 0,
            is_over: false,
        };
        Ok(thread::scope(|scope| {
            scope.spawn(move || {
                if let Ok(mut reader) = LayerReader::from_reader(media_type, blob, diff_id) {
                    send_pieces(&mut reader, &sender);
                }
            });
            let unpacked = unpack(&mut pieces);
            // The thread ends when nothing receives its pieces.
            drop(pieces);
            unpacked
        }))
    }
}

/// Sends an archive to its end, or until it cannot be read or nothing receives it.
fn send_pieces(reader: &mut dyn Read, sender: &SyncSender<LayerPiece>) {
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        let read = Read::take(&mut *reader, PIECE as u64).read_to_end(&mut piece);
        let is_last = !matches!(read, Ok(1..));
        if sender.send(read.map(|_| piece)).is_err() || is_last {
            return;
        }
    }
}

/// The pieces of an archive as a stream.
struct Pieces {
    receiver: Receiver<LayerPiece>,
    piece: Vec<u8>,
    at: usize,
    is_over: bool,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.piece.len() && !self.is_over {
            let next = self.receiver.recv();
            // The thread did not reach the end.
            let next = next.map_err(|_| io::Error::from(io::ErrorKind::UnexpectedEof))?;
            self.piece = next?;
            self.at = 0;
            self.is_over = self.piece.is_empty();
        }
        let rest = self.piece.get(self.at..).unwrap_or_default();
        let length = rest.len().min(buffer.len());
        if let (Some(to), Some(from)) = (buffer.get_mut(..length), rest.get(..length)) {
            to.copy_from_slice(from);
        }
        self.at += length;
        Ok(length)
    }
}
