//! Durations, as Go reads and prints them.

use std::time::Duration;

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
fn durations_are_printed_as_go_prints_them() {
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
    check("1s", "1s");
    check("1500us", "1.5ms");
    check("1ns", "1ns");
    check("-2s", "-2s");
    check("1h1m1.5s", "1h1m1.5s");
}

#[test]
fn other_texts_are_refused_in_words_of_go() {
    check("", "time: invalid duration \"\"");
    check("-", "time: invalid duration \"-\"");
    check("s", "time: invalid duration \"s\"");
    check(".s", "time: invalid duration \".s\"");
    check("x", "time: invalid duration \"x\"");
    check("9999999999h", "time: invalid duration \"9999999999h\"");
    // The number is read before its unit.
    check(
        "9223372036854775809x",
        "time: invalid duration \"9223372036854775809x\"",
    );
    check("5x", "time: unknown unit \"x\" in duration \"5x\"");
    check(
        "5\"\\\u{e9}\n",
        r#"time: unknown unit "\"\\\xc3\xa9\x0a" in duration "5\"\\\xc3\xa9\x0a""#,
    );
    check("3", "time: missing unit in duration \"3\"");
    check("1.2.3s", "time: missing unit in duration \"1.2.3s\"");
    check("1x", "time: unknown unit \"x\" in duration \"1x\"");
    check("1h 5m", "time: unknown unit \"h \" in duration \"1h 5m\"");
    check(
        "9223372036854775808ns",
        "time: invalid duration \"9223372036854775808ns\"",
    );
}

#[test]
fn durations_come_from_seconds_and_from_the_standard_library() {
    assert_eq!(GoDuration::from_seconds(-3).to_string(), "-3s");
    // What Go computes for `time.Duration(n) * time.Second`.
    assert_eq!(
        GoDuration::from_seconds(i64::MAX).to_string(),
        "-1s",
        "it wraps around"
    );
    let duration = Duration::from_micros(90_001_500);
    assert_eq!(GoDuration::from(duration).to_string(), "1m30.0015s");
    let shown = |duration| GoDuration::from_whole_millis(duration).to_string();
    assert_eq!(shown(duration), "1m30.001s");
    assert_eq!(shown(Duration::from_micros(999)), "0s");
    assert_eq!(shown(Duration::from_millis(20)), "20ms");
    let longest = GoDuration::from(Duration::MAX);
    assert_eq!(longest.to_string(), "2562047h47m16.854775807s");
}
