//! The text of reports.

use super::{Table, Tally, diff, numbered};

#[test]
fn diff_shows_wanted_and_got_with_context() {
    let got = diff("a\nb\nc\nd\ne\n", "a\nb\nX\nd\ne\n", false);
    let wanted = [
        "       1  a",
        "       2  b",
        "       3 -c",
        "       3 +X",
        "       4  d",
        "       5  e",
    ];
    assert_eq!(got, wanted.join("\n"));
}

#[test]
fn invisible_differences_can_be_seen() {
    let got = diff("a: \n", "a:\t", false);
    assert!(got.contains("-a:\u{b7}"), "{got}");
    assert!(got.contains("+a:\\t (no newline)"), "{got}");
    assert_eq!(numbered("\u{2028}é\r\n"), "       1 |\\u{2028}é\\u{d}");
}

#[test]
fn long_diffs_are_cut_unless_all_is_asked_for() {
    let wanted = "x\n".repeat(100);
    assert!(diff(&wanted, "", false).ends_with("... 60 more lines (-v shows all)"));
    assert_eq!(diff(&wanted, "", true).lines().count(), 100);
}

#[test]
fn table_counts_by_row() {
    let mut table = Table::default();
    table.count("wide", true);
    table.count("wide", false);
    table.count("compact", true);
    let mut out = Vec::new();
    table.write("edge", &mut out).expect("writing to memory");
    let wanted = "\
edge       passed    failed
compact         1         0
wide            1         1

";
    assert_eq!(String::from_utf8_lossy(&out), wanted);
    let total = Tally {
        passed: 2,
        failed: 1,
    };
    assert_eq!(table.total(), total);
    assert_eq!(total.to_string(), "2 passed, 1 failed");
}
