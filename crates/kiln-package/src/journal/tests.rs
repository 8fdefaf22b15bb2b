//! Journals that were cut off, damaged or forged.

use super::*;

fn sample() -> Journal {
    let inside = |path: &str| PackagePath::new(path).expect("a good path");
    Journal {
        package: 4711,
        directories: vec![inside("new"), inside("new/deep")],
        puts: vec![
            Put {
                path: inside("new/deep/a b%.yaml"),
                temporary: temporary_name(7, 0),
                content: Fingerprint::of(b"x"),
            },
            Put {
                path: inside("zoë\nplan 0"),
                temporary: temporary_name(7, 1),
                content: Fingerprint::of(b""),
            },
        ],
        overwrites: CONTENTS
            .iter()
            .map(|content| Overwrite {
                path: inside(&format!("over {}", content.len())),
                old: stamp(content.len()),
                content: Fingerprint::of(content),
            })
            .collect(),
        deletes: vec![inside("gone.yaml")],
    }
}

/// The contents of the sample's overwrites.
const CONTENTS: [&[u8]; 3] = [b"first\nplan 1\n", b"", b"commit 1\n"];

fn stamp(size: usize) -> Stamp {
    Stamp::read(&mut format!("12 {size} -3 999999999").split(' ')).expect("a stamp")
}

/// The sample as it is on the disk, and where its plan and its contents end.
fn sample_bytes() -> (Vec<u8>, usize, usize) {
    let plan = sample().plan();
    let mut whole = plan.clone().into_bytes();
    whole.extend(CONTENTS.concat());
    let contents_end = whole.len();
    whole.extend(Journal::commit(&plan).into_bytes());
    (whole, plan.len(), contents_end)
}

#[test]
fn a_journal_cut_off_anywhere_still_means_something() {
    let journal = sample();
    let (whole, plan_end, _) = sample_bytes();
    for end in 0..=whole.len() {
        let expected = if end == whole.len() {
            JournalState::Committed(journal.clone(), CONTENTS.to_vec())
        } else if end >= plan_end {
            JournalState::Planned(journal.clone())
        } else {
            JournalState::Unplanned
        };
        assert_eq!(Journal::read(&whole[..end]), expected, "at {end}");
    }
}

#[test]
fn a_changed_byte_is_noticed() {
    let (whole, plan_end, contents_end) = sample_bytes();
    for place in 0..whole.len() {
        let mut bad = whole.clone();
        bad[place] ^= 1;
        let state = Journal::read(&bad);
        assert!(
            matches!(
                state,
                JournalState::Damaged | JournalState::Unplanned | JournalState::Planned(_)
            ),
            "at {place}: {state:?}"
        );
        if place < plan_end {
            assert!(!matches!(state, JournalState::Planned(_)), "at {place}");
        } else if place < contents_end {
            assert_eq!(state, JournalState::Damaged, "at {place}");
        }
    }
}

#[test]
fn paths_that_lead_out_are_no_plan() {
    for line in [
        "delete ../x",
        "delete /etc/passwd",
        "delete a/%2e%2e/b",
        "delete a%00b",
        "delete ",
        "mkdir ..",
        "put 0 cbf29ce484222325 .kiln-0000000000000007-0.tmp ../x",
        "put 0 cbf29ce484222325 ../.kiln-0000000000000007-0.tmp x",
        "put 0 cbf29ce484222325 .bashrc x",
        "put 0 cbf29ce484222325 .kiln-0000000000000007-/0.tmp x",
        "over 0 cbf29ce484222325 1 0 0 0 ../x",
        "over 0 cbf29ce484222325 1 0 0 x",
    ] {
        let body = format!("{HEADER}\npackage 1\n{line}\n");
        let text = format!("{body}plan {:016x}\n", checksum(body.as_bytes()));
        assert_eq!(
            Journal::read(text.as_bytes()),
            JournalState::Unplanned,
            "{line}"
        );
        let text = format!("{text}{}", Journal::commit(&text));
        assert_eq!(
            Journal::read(text.as_bytes()),
            JournalState::Damaged,
            "{line}"
        );
    }
}
