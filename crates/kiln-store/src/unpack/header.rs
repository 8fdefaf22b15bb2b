//! The fixed fields of a tar header.

use super::error::UnpackProblem;

/// The size of headers, and what data is padded to.
pub(crate) const BLOCK: usize = 512;

pub(crate) type HeaderBlock = [u8; BLOCK];

/// The fixed fields of a header.
#[derive(Debug)]
pub(crate) struct Header {
    pub(crate) type_flag: u8,
    pub(crate) path: Vec<u8>,
    pub(crate) link_name: Vec<u8>,
    pub(crate) mode: u32,
    pub(crate) size: u64,
    pub(crate) modified: i64,
    pub(crate) block: HeaderBlock,
}

impl Header {
    /// Parses a header and checks its checksum.
    pub(crate) fn parse(block: HeaderBlock) -> Result<Header, UnpackProblem> {
        check_sum(&block)?;
        let size = number(field(&block, 124, 12))?;
        let size = u64::try_from(size).map_err(|_| UnpackProblem::Archive("a negative size"))?;
        Ok(Header {
            type_flag: field(&block, 156, 1).first().copied().unwrap_or(0),
            path: path(&block),
            link_name: text(field(&block, 157, 100)).to_vec(),
            mode: number(field(&block, 100, 8))? as u32,
            size,
            modified: number(field(&block, 136, 12))?,
            block,
        })
    }
}

/// A field by offset and length.
pub(crate) fn field(block: &HeaderBlock, offset: usize, length: usize) -> &[u8] {
    block.get(offset..offset + length).unwrap_or_default()
}

/// The name, after the prefix that ustar and star have room for.
fn path(block: &HeaderBlock) -> Vec<u8> {
    let name = text(field(block, 0, 100));
    let prefix = match (field(block, 257, 6), field(block, 508, 4)) {
        (b"ustar\0", b"tar\0") => text(field(block, 345, 131)),
        (b"ustar\0", _) => text(field(block, 345, 155)),
        _ => b"",
    };
    match prefix {
        b"" => name.to_vec(),
        prefix => [prefix, b"/", name].concat(),
    }
}

/// The bytes before the first NUL.
fn text(field: &[u8]) -> &[u8] {
    let end = field.iter().position(|byte| *byte == 0);
    field.get(..end.unwrap_or(field.len())).unwrap_or_default()
}

/// A number: octal digits, or binary if the first bit is set.
pub(crate) fn number(field: &[u8]) -> Result<i64, UnpackProblem> {
    let invalid = || UnpackProblem::Archive("a header has an invalid number");
    let Some((first, rest)) = field.split_first() else {
        return Ok(0);
    };
    if first & 0x80 != 0 {
        // Two's complement; the first bit is the mark, the second one the sign.
        let mut value = i128::from(first & 0x7f);
        if first & 0x40 != 0 {
            value -= 0x80;
        }
        for byte in rest {
            value = value.checked_mul(256).ok_or_else(invalid)? + i128::from(*byte);
        }
        return i64::try_from(value).map_err(|_| invalid());
    }
    let is_filler = |byte: &u8| matches!(byte, b' ' | 0);
    let digits = field.iter().skip_while(|byte| is_filler(byte));
    let mut value: i64 = 0;
    let mut has_ended = false;
    for byte in digits {
        match byte {
            b'0'..=b'7' if !has_ended => {
                let value_or_overflow = value.checked_mul(8);
                value = value_or_overflow.ok_or_else(invalid)? + i64::from(byte - b'0');
            }
            b' ' | 0 => has_ended = true,
            _ => return Err(invalid()),
        }
    }
    Ok(value)
}

/// Checks the sum of all bytes, with the checksum itself as spaces. Some old programs added signed bytes.
fn check_sum(block: &HeaderBlock) -> Result<(), UnpackProblem> {
    let expected = number(field(block, 148, 8))?;
    let (mut unsigned, mut signed) = (0, 0);
    for (index, byte) in block.iter().enumerate() {
        let byte = if (148..156).contains(&index) {
            b' '
        } else {
            *byte
        };
        unsigned += i64::from(byte);
        signed += i64::from(byte as i8);
    }
    if expected != unsigned && expected != signed {
        return Err(UnpackProblem::Archive("a header has the wrong checksum"));
    }
    Ok(())
}
