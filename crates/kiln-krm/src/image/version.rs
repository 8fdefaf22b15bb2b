//! Versions as the catalog's tags spell them: semantic versions with an optional `v`, minor and patch optional,
//! leading zeros allowed.
//!
//! The rules, the order and the messages are those of the Go library that kpt resolves tags with.

use std::cmp::Ordering;

use kiln_go::quote;

/// A version, with the text it was read from.
#[derive(Clone, Debug)]
pub struct Version {
    pub major: u64,
    /// The second number; zero if not given.
    pub minor: u64,
    /// The third number; zero if not given.
    pub patch: u64,
    /// What follows the dash; empty for releases.
    pub pre: String,
    original: String,
}

/// Why a text is not a version.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum VersionError {
    /// It does not have the form of one.
    #[error("invalid semantic version")]
    Form,
    /// It has more than 256 bytes.
    #[error("version string is too long (max 256 bytes)")]
    TooLong,
    /// A number has more than 64 bits.
    #[error("error parsing version segment: strconv.ParseUint: parsing {}: value out of range", quote(.0))]
    NumberTooLarge(String),
    /// A number in the pre-release part has a leading zero.
    #[error("version segment starts with 0")]
    LeadingZero,
}

impl Version {
    /// Reads a version.
    pub fn parse(text: &str) -> Result<Version, VersionError> {
        if text.len() > 256 {
            return Err(VersionError::TooLong);
        }
        let (rest, metadata) = split_optional(text.strip_prefix('v').unwrap_or(text), '+');
        let (numbers, pre) = split_optional(rest, '-');
        let are_identifiers =
            |part: Option<&str>| part.is_none_or(|part| part.split('.').all(is_identifier));
        let numbers: Vec<&str> = numbers.split('.').collect();
        let is_number = |part: &&str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !are_identifiers(metadata)
            || !are_identifiers(pre)
            || numbers.len() > 3
            || !numbers.iter().all(is_number)
        {
            return Err(VersionError::Form);
        }
        let number = |place: usize| match numbers.get(place) {
            None => Ok(0),
            Some(digits) => digits
                .parse()
                .map_err(|_| VersionError::NumberTooLarge((*digits).to_owned())),
        };
        let version = Version {
            major: number(0)?,
            minor: number(1)?,
            patch: number(2)?,
            pre: pre.unwrap_or_default().to_owned(),
            original: text.to_owned(),
        };
        let has_leading_zero =
            |part: &str| part.len() > 1 && part.starts_with('0') && is_number(&part);
        if version.pre.split('.').any(has_leading_zero) {
            return Err(VersionError::LeadingZero);
        }
        Ok(version)
    }

    /// The text the version was read from.
    pub fn original(&self) -> &str {
        &self.original
    }

    /// The order of precedence: releases after their pre-releases, build metadata ignored.
    pub fn precedence(&self, other: &Version) -> Ordering {
        let numbers = |v: &Version| (v.major, v.minor, v.patch);
        numbers(self).cmp(&numbers(other)).then_with(|| {
            match (self.pre.is_empty(), other.pre.is_empty()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Greater,
                (false, true) => Ordering::Less,
                (false, false) => compare_pre(&self.pre, &other.pre),
            }
        })
    }
}

/// The order of two pre-release parts: identifier by identifier, numbers before words, fewer before more.
pub(super) fn compare_pre(left: &str, right: &str) -> Ordering {
    let (mut left, mut right) = (left.split('.'), right.split('.'));
    loop {
        let (a, b) = match (left.next(), right.next()) {
            (None, None) => return Ordering::Equal,
            (a, b) => (a.unwrap_or_default(), b.unwrap_or_default()),
        };
        let order = match (
            a.is_empty(),
            b.is_empty(),
            a.parse::<u64>(),
            b.parse::<u64>(),
        ) {
            (false, false, Ok(a), Ok(b)) => a.cmp(&b),
            (false, false, Ok(_), Err(_)) => Ordering::Less,
            (false, false, Err(_), Ok(_)) => Ordering::Greater,
            _ => a.cmp(b),
        };
        if order != Ordering::Equal {
            return order;
        }
    }
}

pub(super) fn is_identifier(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-')
}

fn split_optional(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}
