//! Sparse files: old GNU headers, and the PAX versions 0.0, 0.1 and 1.0.

use super::error::UnpackProblem;
use super::header::{HeaderBlock, field, number};

/// The largest number of segments.
const MAX_SEGMENTS: usize = 1 << 16;

/// A range of a file that has data. Everything else is zeros.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Segment {
    pub(crate) offset: u64,
    pub(crate) length: u64,
}

/// Where the data of a sparse file is.
#[derive(Debug)]
pub(crate) struct SparseMap {
    /// Of the file, holes included.
    pub(crate) size: u64,
    pub(crate) segments: Vec<Segment>,
}

const INVALID: UnpackProblem = UnpackProblem::Archive("a sparse map is invalid");

impl SparseMap {
    /// Checks that segments are in order, inside the file, and as long as the data.
    pub(crate) fn check(&self, stored: u64) -> Result<(), UnpackProblem> {
        let mut end = 0;
        let mut data = 0_u64;
        for segment in &self.segments {
            if segment.offset < end {
                return Err(INVALID);
            }
            end = segment.offset.checked_add(segment.length).ok_or(INVALID)?;
            data += segment.length;
        }
        if end > self.size || data != stored {
            return Err(INVALID);
        }
        Ok(())
    }
}

/// The map of an old GNU sparse file while it is read.
pub(crate) struct OldMap {
    pub(crate) map: SparseMap,
    /// Whether another block follows.
    pub(crate) is_extended: bool,
}

impl OldMap {
    pub(crate) fn of_header(block: &HeaderBlock) -> Result<OldMap, UnpackProblem> {
        let size = u64::try_from(number(field(block, 483, 12))?).map_err(|_| INVALID)?;
        let mut map = OldMap {
            map: SparseMap {
                size,
                segments: Vec::new(),
            },
            is_extended: false,
        };
        map.add(block, 386, 4)?;
        map.is_extended = field(block, 482, 1) != [0];
        Ok(map)
    }

    /// Adds a block after the header.
    pub(crate) fn extend(&mut self, block: &HeaderBlock) -> Result<(), UnpackProblem> {
        self.add(block, 0, 21)?;
        self.is_extended = field(block, 504, 1) != [0];
        Ok(())
    }

    fn add(&mut self, block: &HeaderBlock, at: usize, count: usize) -> Result<(), UnpackProblem> {
        for index in 0..count {
            let at = at + index * 24;
            if field(block, at, 1) == [0] {
                break;
            }
            let value = |at| u64::try_from(number(field(block, at, 12))?).map_err(|_| INVALID);
            let segment = Segment {
                offset: value(at)?,
                length: value(at + 12)?,
            };
            push(&mut self.map.segments, segment)?;
        }
        Ok(())
    }
}

/// The records of sparse files in a PAX header.
#[derive(Default, Debug)]
pub(crate) struct PaxSparse {
    major: Option<u64>,
    minor: Option<u64>,
    /// Replaces the name of the entry.
    pub(crate) name: Option<Vec<u8>>,
    size: Option<u64>,
    segments: Vec<Segment>,
    /// An offset of version 0.0 whose length follows.
    pending_offset: Option<u64>,
    has_map: bool,
}

/// Where the map of a file with PAX records is.
pub(crate) enum PaxMap {
    /// The file is not sparse.
    None,
    Listed(SparseMap),
    /// At the beginning of the data.
    InData {
        size: u64,
    },
}

impl PaxSparse {
    /// Whether a header may have a record several times.
    pub(crate) fn may_repeat(key: &[u8]) -> bool {
        matches!(key, b"GNU.sparse.offset" | b"GNU.sparse.numbytes")
    }

    pub(crate) fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), UnpackProblem> {
        let number = || decimal(value).ok_or(INVALID);
        match key {
            b"GNU.sparse.major" => self.major = Some(number()?),
            b"GNU.sparse.minor" => self.minor = Some(number()?),
            b"GNU.sparse.name" if value.contains(&0) || value.is_empty() => return Err(INVALID),
            b"GNU.sparse.name" => self.name = Some(value.to_vec()),
            b"GNU.sparse.size" | b"GNU.sparse.realsize" => self.size = Some(number()?),
            b"GNU.sparse.offset" => {
                self.has_map = true;
                if self.pending_offset.replace(number()?).is_some() {
                    return Err(INVALID);
                }
            }
            b"GNU.sparse.numbytes" => {
                let offset = self.pending_offset.take().ok_or(INVALID)?;
                let length = number()?;
                push(&mut self.segments, Segment { offset, length })?;
            }
            b"GNU.sparse.map" => {
                self.has_map = true;
                self.segments = parse_map(value)?;
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn map(&self) -> Result<PaxMap, UnpackProblem> {
        let size = || self.size.ok_or(INVALID);
        match (self.major, self.minor) {
            (Some(1), Some(0)) => Ok(PaxMap::InData { size: size()? }),
            (None, None) | (Some(0), Some(0 | 1)) if self.has_map => {
                if self.pending_offset.is_some() {
                    return Err(INVALID);
                }
                Ok(PaxMap::Listed(SparseMap {
                    size: size()?,
                    segments: self.segments.clone(),
                }))
            }
            (None, None) if self.size.is_none() && self.name.is_none() => Ok(PaxMap::None),
            _ => Err(INVALID),
        }
    }
}

/// The map of version 1.0 while it is read: decimal numbers, one in a line, padded to a block.
#[derive(Default)]
pub(crate) struct MapLines {
    line: Vec<u8>,
    count: Option<u64>,
    numbers: Vec<u64>,
}

impl MapLines {
    /// Adds a block. Returns the segments when the map is complete.
    pub(crate) fn add(
        &mut self,
        block: &HeaderBlock,
    ) -> Result<Option<Vec<Segment>>, UnpackProblem> {
        for byte in block {
            if self.is_complete() {
                break;
            }
            match byte {
                b'\n' => {
                    let number = decimal(&self.line).ok_or(INVALID)?;
                    self.line.clear();
                    match self.count {
                        None => self.count = Some(number),
                        Some(_) => self.numbers.push(number),
                    }
                    if self.count.is_some_and(|count| count > MAX_SEGMENTS as u64) {
                        return Err(INVALID);
                    }
                }
                byte if self.line.len() < 20 => self.line.push(*byte),
                _ => return Err(INVALID),
            }
        }
        Ok(self.is_complete().then(|| segments(&self.numbers)))
    }

    fn is_complete(&self) -> bool {
        let complete = |count: u64| self.numbers.len() as u64 == 2 * count;
        self.count.is_some_and(complete)
    }
}

/// The map of version 0.1: offset and length, separated by commas.
fn parse_map(value: &[u8]) -> Result<Vec<Segment>, UnpackProblem> {
    let mut numbers = Vec::new();
    for text in value
        .split(|byte| *byte == b',')
        .filter(|_| !value.is_empty())
    {
        numbers.push(decimal(text).ok_or(INVALID)?);
    }
    if numbers.len() % 2 != 0 || numbers.len() > 2 * MAX_SEGMENTS {
        return Err(INVALID);
    }
    Ok(segments(&numbers))
}

fn segments(numbers: &[u64]) -> Vec<Segment> {
    let (pairs, _) = numbers.as_chunks::<2>();
    let segment = |pair: &[u64; 2]| Segment {
        offset: pair[0],
        length: pair[1],
    };
    pairs.iter().map(segment).collect()
}

fn push(segments: &mut Vec<Segment>, segment: Segment) -> Result<(), UnpackProblem> {
    if segments.len() >= MAX_SEGMENTS {
        return Err(INVALID);
    }
    segments.push(segment);
    Ok(())
}

/// A number of decimal digits, at most `i64::MAX`.
pub(crate) fn decimal(text: &[u8]) -> Option<u64> {
    if text.is_empty() || !text.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let text = std::str::from_utf8(text).ok()?;
    let number = text.parse::<i64>().ok()?;
    u64::try_from(number).ok()
}
