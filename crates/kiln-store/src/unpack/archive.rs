//! Reads the entries of a tar archive: ustar, GNU and PAX, with long names and sparse files.
//!
//! Stricter than most readers, because readers that disagree about an archive are how content is smuggled: a PAX size holds for
//! reading and for skipping, repeated extension headers and repeated records are errors, and extension data is limited. After the end
//! of the archive the rest of the stream is read, so that its digest is that of all bytes.

use std::io::{self, Read};

use super::error::UnpackProblem;
use super::header::{BLOCK, Header, HeaderBlock};
use super::limits::StreamBudget;
use super::pax::PaxRecords;
use super::sparse::{self, Segment, SparseMap};

/// The largest extension data of one entry.
const MAX_EXTENSION: u64 = 64 << 10;

/// An entry of an archive, without its data.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct ArchiveEntry {
    pub(crate) path: Vec<u8>,
    pub(crate) kind: EntryKind,
    pub(crate) mode: u32,
    /// Seconds since 1970.
    pub(crate) modified: i64,
    /// Of the file, in bytes, holes included.
    pub(crate) size: u64,
    /// Where the data of a sparse file is. `None` for other files.
    pub(crate) segments: Option<Vec<Segment>>,
}

/// The type of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum EntryKind {
    File,
    Directory,
    /// With its target.
    Symlink(Vec<u8>),
    /// With the path of the file in the archive.
    HardLink(Vec<u8>),
    CharacterDevice,
    BlockDevice,
    Fifo,
}

/// Reads an archive from a stream.
pub(crate) struct ArchiveReader<'a> {
    stream: &'a mut dyn Read,
    budget: StreamBudget,
    /// Data of the current entry that was not read yet.
    remaining: u64,
    /// Zeros after the data of the current entry.
    padding: u64,
}

/// The extension headers before an entry.
#[derive(Default)]
struct Extensions {
    pax: Option<PaxRecords>,
    long_name: Option<Vec<u8>>,
    long_link: Option<Vec<u8>>,
    bytes: u64,
}

impl<'a> ArchiveReader<'a> {
    pub(crate) fn new(stream: &'a mut dyn Read, budget: StreamBudget) -> ArchiveReader<'a> {
        ArchiveReader {
            stream,
            budget,
            remaining: 0,
            padding: 0,
        }
    }

    /// The next entry, `None` at the end of the archive. Skips data that was not read.
    pub(crate) fn next_entry(&mut self) -> Result<Option<ArchiveEntry>, UnpackProblem> {
        self.skip_data()?;
        let mut extensions = Extensions::default();
        loop {
            let Some(header) = self.read_header()? else {
                return match extensions.bytes {
                    0 => Ok(None),
                    _ => Err(UnpackProblem::Archive("an extension header has no entry")),
                };
            };
            match header.type_flag {
                b'x' => {
                    let data = self.read_extension(&header, &mut extensions)?;
                    let records = PaxRecords::parse(&data)?;
                    put(&mut extensions.pax, records)?;
                }
                b'L' => {
                    let data = self.read_extension(&header, &mut extensions)?;
                    put(&mut extensions.long_name, until_nul(data))?;
                }
                b'K' => {
                    let data = self.read_extension(&header, &mut extensions)?;
                    put(&mut extensions.long_link, until_nul(data))?;
                }
                // A global header. Its records hold for no entry of an image.
                b'g' => {
                    let mut ignored = Extensions::default();
                    self.read_extension(&header, &mut ignored)?;
                }
                _ => return self.entry(header, extensions).map(Some),
            }
        }
    }

    /// Reads data of the current entry. Returns 0 at its end.
    pub(crate) fn read_data(&mut self, buffer: &mut [u8]) -> Result<usize, UnpackProblem> {
        let length = usize::try_from(self.remaining).unwrap_or(usize::MAX);
        let length = length.min(buffer.len());
        let Some(buffer) = buffer.get_mut(..length).filter(|buffer| !buffer.is_empty()) else {
            return Ok(0);
        };
        let read = self.read(buffer)?;
        if read == 0 {
            return Err(truncated().into());
        }
        self.remaining -= read as u64;
        Ok(read)
    }

    /// Reads the stream to its end, after the end of the archive. Returns how many bytes it had.
    pub(crate) fn finish(mut self) -> Result<u64, UnpackProblem> {
        let mut buffer = vec![0; 64 << 10];
        while self.read(&mut buffer)? > 0 {}
        Ok(self.budget.read())
    }

    fn entry(
        &mut self,
        header: Header,
        extensions: Extensions,
    ) -> Result<ArchiveEntry, UnpackProblem> {
        let pax = extensions.pax.unwrap_or_default();
        let stored = pax.size.unwrap_or(header.size);
        let mut path = pax.path.or(extensions.long_name).unwrap_or(header.path);
        let link = pax
            .link_path
            .or(extensions.long_link)
            .unwrap_or(header.link_name);
        let kind = match header.type_flag {
            b'0' | b'7' | b'S' => EntryKind::File,
            // Archives before ustar mark directories like this.
            0 if path.ends_with(b"/") => EntryKind::Directory,
            0 => EntryKind::File,
            b'1' => EntryKind::HardLink(link),
            b'2' => EntryKind::Symlink(link),
            b'3' => EntryKind::CharacterDevice,
            b'4' => EntryKind::BlockDevice,
            b'5' => EntryKind::Directory,
            b'6' => EntryKind::Fifo,
            other => return Err(UnpackProblem::EntryType(char::from(other))),
        };
        // Other entries have no data, whatever their size is.
        let stored = match kind {
            EntryKind::File => stored,
            _ => 0,
        };
        self.remaining = stored;
        self.padding = stored.wrapping_neg() % BLOCK as u64;
        let sparse = match (&kind, header.type_flag) {
            (EntryKind::File, b'S') => Some(self.read_old_map(&header.block)?),
            (EntryKind::File, _) => match pax.sparse.map()? {
                sparse::PaxMap::None => None,
                sparse::PaxMap::Listed(map) => Some(map),
                sparse::PaxMap::InData { size } => Some(self.read_map_in_data(size)?),
            },
            _ => None,
        };
        if let Some(name) = pax.sparse.name {
            path = name;
        }
        let (size, segments) = match sparse {
            None => (stored, None),
            Some(map) => {
                map.check(self.remaining)?;
                (map.size, Some(map.segments))
            }
        };
        Ok(ArchiveEntry {
            path,
            kind,
            mode: header.mode,
            modified: pax.modified.unwrap_or(header.modified),
            size,
            segments,
        })
    }

    /// The map of an old GNU sparse file: in its header, and in blocks after it.
    fn read_old_map(&mut self, block: &HeaderBlock) -> Result<SparseMap, UnpackProblem> {
        let mut map = sparse::OldMap::of_header(block)?;
        while map.is_extended {
            let Some(block) = self.read_block()? else {
                return Err(truncated().into());
            };
            map.extend(&block)?;
        }
        Ok(map.map)
    }

    /// The map at the beginning of the data of a sparse file of version 1.0.
    fn read_map_in_data(&mut self, size: u64) -> Result<SparseMap, UnpackProblem> {
        let mut lines = sparse::MapLines::default();
        loop {
            let mut block = [0; BLOCK];
            if self.remaining < BLOCK as u64 {
                return Err(UnpackProblem::Archive("a sparse map is incomplete"));
            }
            let mut filled = 0;
            while let Some(rest) = block.get_mut(filled..).filter(|rest| !rest.is_empty()) {
                filled += self.read_data(rest)?;
            }
            if let Some(segments) = lines.add(&block)? {
                return Ok(SparseMap { size, segments });
            }
        }
    }

    fn read_extension(
        &mut self,
        header: &Header,
        extensions: &mut Extensions,
    ) -> Result<Vec<u8>, UnpackProblem> {
        extensions.bytes = extensions.bytes.saturating_add(header.size.max(1));
        if extensions.bytes > MAX_EXTENSION {
            return Err(UnpackProblem::Archive("more than 64 KiB of extension data"));
        }
        self.remaining = header.size;
        self.padding = header.size.wrapping_neg() % BLOCK as u64;
        let mut data = vec![0; usize::try_from(header.size).unwrap_or(0)];
        let mut filled = 0;
        while let Some(rest) = data.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            filled += self.read_data(rest)?;
        }
        self.skip_data()?;
        Ok(data)
    }

    /// The next header, `None` at the end of the archive.
    fn read_header(&mut self) -> Result<Option<Header>, UnpackProblem> {
        let Some(block) = self.read_block()? else {
            return Ok(None);
        };
        if !is_zero(&block) {
            return Header::parse(block).map(Some);
        }
        match self.read_block()? {
            Some(second) if !is_zero(&second) => {
                Err(UnpackProblem::Archive("a single block of zeros"))
            }
            _ => Ok(None),
        }
    }

    /// The next block, `None` at the end of the stream.
    fn read_block(&mut self) -> Result<Option<HeaderBlock>, UnpackProblem> {
        let mut block = [0; BLOCK];
        let mut filled = 0;
        while let Some(rest) = block.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match (self.read(rest)?, filled) {
                (0, 0) => return Ok(None),
                (0, _) => return Err(truncated().into()),
                (read, _) => filled += read,
            }
        }
        Ok(Some(block))
    }

    fn skip_data(&mut self) -> Result<(), UnpackProblem> {
        let mut buffer = [0; 8 << 10];
        self.remaining = self.remaining.saturating_add(self.padding);
        self.padding = 0;
        while self.read_data(&mut buffer)? > 0 {}
        Ok(())
    }

    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, UnpackProblem> {
        loop {
            match self.stream.read(buffer) {
                Ok(read) => {
                    self.budget.count(read as u64)?;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Sets an extension, which an entry may have once.
fn put<T>(extension: &mut Option<T>, value: T) -> Result<(), UnpackProblem> {
    match extension.replace(value) {
        None => Ok(()),
        Some(_) => Err(UnpackProblem::Archive(
            "an entry has two extension headers of one type",
        )),
    }
}

fn until_nul(mut data: Vec<u8>) -> Vec<u8> {
    if let Some(end) = data.iter().position(|byte| *byte == 0) {
        data.truncate(end);
    }
    data
}

fn is_zero(block: &HeaderBlock) -> bool {
    block.iter().all(|byte| *byte == 0)
}

fn truncated() -> io::Error {
    io::Error::new(
        io::ErrorKind::UnexpectedEof,
        "it is truncated, or not a tar archive",
    )
}
