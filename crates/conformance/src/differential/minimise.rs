//! Reduces a differing input while it still differs in the same kind of output.

use super::oracle::Oracle;
use crate::yaml::case::Case;
use crate::yaml::check_all;
use crate::yaml::kind::Kind;

/// Maximum number of rounds; each makes the input smaller, so this only limits odd cases.
const MAX_ROUNDS: usize = 400;

/// A smaller case that still fails for `kind`.
pub(super) fn minimise(input: &[u8], kind: Kind, oracle: &mut Oracle) -> anyhow::Result<Case> {
    let mut best = input.to_owned();
    for _ in 0..MAX_ROUNDS {
        let Some(smaller) = cut_once(&best, kind, oracle)? else {
            break;
        };
        best = smaller;
    }
    let mut cases = oracle.ask(std::slice::from_ref(&best))?;
    Ok(cases.remove(0))
}

/// The first cut that keeps the failure: large pieces first, then lines, then characters, then simpler characters.
fn cut_once(input: &[u8], kind: Kind, oracle: &mut Oracle) -> anyhow::Result<Option<Vec<u8>>> {
    for candidates in [
        without_lines(input),
        without_characters(input),
        simpler(input),
    ] {
        if candidates.is_empty() {
            continue;
        }
        let cases = oracle.ask(&candidates)?;
        let checks = check_all(&cases, &[kind]);
        let failing = checks
            .iter()
            .position(|checks| checks.iter().any(|check| check.failure.is_some()));
        if let Some(place) = failing {
            return Ok(candidates.into_iter().nth(place));
        }
    }
    Ok(None)
}

/// The input without a run of lines, for each run, long runs first.
fn without_lines(input: &[u8]) -> Vec<Vec<u8>> {
    let lines: Vec<&[u8]> = input.split_inclusive(|byte| *byte == b'\n').collect();
    let mut candidates = Vec::new();
    let mut length = lines.len() / 2;
    while length > 0 {
        for start in (0..lines.len()).step_by(length) {
            let end = (start + length).min(lines.len());
            candidates.push([lines[..start].concat(), lines[end..].concat()].concat());
        }
        length /= 2;
    }
    candidates
}

/// The input without one character, or one pair of neighbours, for each of them.
fn without_characters(input: &[u8]) -> Vec<Vec<u8>> {
    let mut candidates = Vec::new();
    for length in [8, 4, 2, 1] {
        for start in 0..input.len() {
            let end = start + length;
            if end <= input.len() && is_boundary(input, start) && is_boundary(input, end) {
                candidates.push([&input[..start], &input[end..]].concat());
            }
        }
    }
    candidates
}

/// The input with one character other than a mark replaced by a plain one.
fn simpler(input: &[u8]) -> Vec<Vec<u8>> {
    let mut candidates = Vec::new();
    for (place, byte) in input.iter().enumerate() {
        if byte.is_ascii_alphanumeric() && *byte != b'a' {
            let mut candidate = input.to_owned();
            candidate[place] = b'a';
            candidates.push(candidate);
        }
    }
    candidates
}

fn is_boundary(input: &[u8], place: usize) -> bool {
    input.get(place).is_none_or(|byte| byte & 0xc0 != 0x80)
}
