//! The records of a PAX extended header: `LENGTH KEY=VALUE\n`.

use super::error::UnpackProblem;
use super::sparse::{PaxSparse, decimal};

/// The records that matter for unpacking. Extended attributes and owners are not kept.
#[derive(Default, Debug)]
pub(crate) struct PaxRecords {
    pub(crate) path: Option<Vec<u8>>,
    pub(crate) link_path: Option<Vec<u8>>,
    pub(crate) size: Option<u64>,
    /// Seconds since 1970.
    pub(crate) modified: Option<i64>,
    pub(crate) sparse: PaxSparse,
}

const MALFORMED: UnpackProblem = UnpackProblem::Archive("a PAX record is malformed");
const REPEATED: UnpackProblem = UnpackProblem::Archive("a PAX record is repeated");

impl PaxRecords {
    /// Parses the data of an extended header.
    pub(crate) fn parse(mut data: &[u8]) -> Result<PaxRecords, UnpackProblem> {
        let mut records = PaxRecords::default();
        let mut seen = std::collections::HashSet::new();
        while !data.is_empty() {
            let (record, rest) = split_record(data)?;
            data = rest;
            let PaxRecord { key, value } = record;
            if !seen.insert(key) && !PaxSparse::may_repeat(key) {
                return Err(REPEATED);
            }
            records.set(key, value)?;
        }
        Ok(records)
    }

    fn set(&mut self, key: &[u8], value: &[u8]) -> Result<(), UnpackProblem> {
        match key {
            b"path" => self.path = text(value)?,
            b"linkpath" => self.link_path = text(value)?,
            // An empty value removes what a global header set, which is ignored here.
            b"size" if value.is_empty() => {}
            b"size" => self.size = Some(decimal(value).ok_or(MALFORMED)?),
            b"mtime" if value.is_empty() => {}
            b"mtime" => self.modified = Some(seconds(value).ok_or(MALFORMED)?),
            key => self.sparse.set(key, value)?,
        }
        Ok(())
    }
}

/// A path, which has no NUL. `None` if it is empty.
fn text(value: &[u8]) -> Result<Option<Vec<u8>>, UnpackProblem> {
    if value.contains(&0) {
        return Err(UnpackProblem::Archive("a path in a PAX record has a NUL"));
    }
    Ok((!value.is_empty()).then(|| value.to_vec()))
}

struct PaxRecord<'a> {
    key: &'a [u8],
    value: &'a [u8],
}

/// The first record, and the data after it.
fn split_record(data: &[u8]) -> Result<(PaxRecord<'_>, &[u8]), UnpackProblem> {
    let space = data.iter().take(20).position(|byte| *byte == b' ');
    let space = space.ok_or(MALFORMED)?;
    let (digits, _) = data.split_at(space);
    let length = decimal(digits).and_then(|length| usize::try_from(length).ok());
    let (record, rest) = length
        .and_then(|length| data.split_at_checked(length))
        .ok_or(MALFORMED)?;
    let record = record.get(space + 1..).ok_or(MALFORMED)?;
    let record = record.strip_suffix(b"\n").ok_or(MALFORMED)?;
    let equals = record.iter().position(|byte| *byte == b'=');
    let (key, value) = record.split_at(equals.ok_or(MALFORMED)?);
    if key.is_empty() || key.contains(&0) {
        return Err(MALFORMED);
    }
    let value = value.get(1..).unwrap_or_default();
    Ok((PaxRecord { key, value }, rest))
}

/// The whole seconds of a decimal number, rounded down.
fn seconds(value: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(value).ok()?;
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_negative = whole.starts_with('-');
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole.strip_prefix('-').unwrap_or(whole)) || !is_digits(fraction) {
        return None;
    }
    let seconds: i64 = whole.parse().ok()?;
    let has_fraction = fraction.bytes().any(|digit| digit != b'0');
    match is_negative && has_fraction {
        true => seconds.checked_sub(1),
        false => Some(seconds),
    }
}
