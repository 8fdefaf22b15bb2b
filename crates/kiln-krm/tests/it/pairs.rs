//! Every recorded pair that reading and writing resources decides, to the byte.

use std::fmt::Write as _;

use kiln_krm::roundtrip::{self, RoundtripError};

use crate::shared::yaml_pairs;

type Roundtrip = fn(&[u8]) -> Result<String, RoundtripError>;

const KINDS: [(&str, Roundtrip); 4] = [
    ("kio", roundtrip::kio),
    ("pkg", roundtrip::pkg),
    ("wire", roundtrip::wire),
    ("wireback", roundtrip::wireback),
];

#[test]
fn real_files() {
    check("real");
}

#[test]
fn edge_cases() {
    check("edge");
}

#[test]
fn yaml_test_suite() {
    check("suite");
}

#[test]
fn fuzzed_inputs() {
    check("fuzz");
}

#[track_caller]
fn check(set: &str) {
    let mut failures = String::new();
    let mut failed = 0;
    for case in yaml_pairs(set) {
        for (kind, roundtrip) in KINDS {
            let (wanted, refusal) = (case.written(kind), case.refusal(kind));
            if wanted.is_none() && refusal.is_none() {
                continue;
            }
            let ours = roundtrip(&case.input);
            let is_same = match (&ours, refusal) {
                (Ok(text), None) => Some(text.as_bytes()) == wanted.as_deref(),
                (Err(error), Some(refusal)) => error.go_line() == go_line(refusal),
                _ => false,
            };
            if !is_same {
                failed += 1;
                if failed <= 5 {
                    let wanted = wanted.as_deref().map(String::from_utf8_lossy);
                    let id = &case.id;
                    let _ = writeln!(
                        failures,
                        "{kind} of {id}:\nwanted {wanted:?} {refusal:?}\nours   {ours:?}"
                    );
                }
            }
        }
    }
    assert_eq!(failed, 0, "{failures}");
}

/// The number in `… line 6: …`.
fn go_line(message: &str) -> Option<usize> {
    let (_, rest) = message.split_once("yaml: line ")?;
    rest.split_once(':')?.0.parse().ok()
}
