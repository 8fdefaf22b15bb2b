//! Spans of time, as Go reads and writes them.

use super::GoDuration;

#[track_caller]
fn check(text: &str, wanted: &str) {
    let got = match text.parse::<GoDuration>() {
        Ok(duration) => duration.to_string(),
        Err(error) => error.to_string(),
    };
    assert_eq!(got, wanted, "{text:?}");
}

#[test]
fn spans_are_written_as_go_writes_them() {
    check("30m", "30m0s");
    check("1h30m", "1h30m0s");
    check("90s", "1m30s");
    check("1.5h", "1h30m0s");
    check("100ms", "100ms");
    check("0", "0s");
    check("-0", "0s");
    check("+5s", "5s");
    check("-1.5s", "-1.5s");
    check(".5s", "500ms");
    check("5.s", "5s");
    check("1us", "1\u{b5}s");
    check("1\u{b5}s", "1\u{b5}s");
    check("1\u{3bc}s500ns", "1.5\u{b5}s");
    check("39h9m14.425s", "39h9m14.425s");
    check("3000000h", "time: invalid duration \"3000000h\"");
    check("9223372036854775807ns", "2562047h47m16.854775807s");
    check("-9223372036854775808ns", "-2562047h47m16.854775808s");
    check("0.100000000000000000000h", "6m0s");
    check("0.3333333333333333333h", "20m0s");
}

#[test]
fn what_is_no_span_is_said_in_words_of_go() {
    check("", "time: invalid duration \"\"");
    check("-", "time: invalid duration \"-\"");
    check("s", "time: invalid duration \"s\"");
    check(".s", "time: invalid duration \".s\"");
    check("3", "time: missing unit in duration \"3\"");
    check("1.2.3s", "time: missing unit in duration \"1.2.3s\"");
    check("1x", "time: unknown unit \"x\" in duration \"1x\"");
    check("1h 5m", "time: unknown unit \"h \" in duration \"1h 5m\"");
    check(
        "9223372036854775808ns",
        "time: invalid duration \"9223372036854775808ns\"",
    );
}
