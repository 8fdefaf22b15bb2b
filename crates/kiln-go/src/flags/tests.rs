//! Command lines, as Go reads them.

use super::{FlagSet, Key, Parsed, Stop};
use crate::GoDuration;

struct Sample {
    set: FlagSet,
    port: Key<i64>,
    warm: Key<bool>,
    name: Key<String>,
    ttl: Key<GoDuration>,
    v: Key<bool>,
}

fn sample() -> Sample {
    let mut set = FlagSet::new("prog");
    Sample {
        port: set.add("port", 9445, "The server port"),
        warm: set.add("warm", true, "if true, warm up"),
        name: set.text("name", "x", "the `NAME` of it"),
        ttl: set.add("ttl", GoDuration::from_seconds(1800), "how long\nit lives"),
        v: set.add("v", false, "talk"),
        set,
    }
}

fn parse(arguments: &[&str]) -> Result<Parsed, Stop> {
    sample()
        .set
        .parse(arguments.iter().map(ToString::to_string))
}

/// The first line of what is printed.
#[track_caller]
fn check_wrong(arguments: &[&str], wanted: &str) {
    let stop = parse(arguments).expect_err("a wrong command line");
    assert_eq!(stop.exit_code(), 2);
    assert_eq!(stop.text().lines().next(), Some(wanted), "{arguments:?}");
}

#[test]
fn all_forms_of_a_flag_are_the_same() {
    let keys = sample();
    for form in [
        &["-port", "1"][..],
        &["--port", "1"],
        &["-port=1"],
        &["--port=1"],
        &["--port=2", "-port=0x1"],
    ] {
        let parsed = parse(form).expect("flags");
        assert_eq!(parsed.get(keys.port), 1, "{form:?}");
        assert!(parsed.is_given(keys.port) && !parsed.is_given(keys.name));
    }
}

#[test]
fn booleans_take_a_value_only_with_an_equals_sign() {
    let keys = sample();
    let parsed = parse(&["--v", "--warm=F", "--name", "--v"]).expect("flags");
    assert!(parsed.get(keys.v) && !parsed.get(keys.warm));
    assert_eq!(parsed.get(keys.name), "--v");
    let parsed = parse(&["--warm", "false", "--port=1"]).expect("flags");
    assert!(parsed.get(keys.warm));
    assert_eq!(parsed.rest(), ["false", "--port=1"]);
}

#[test]
fn flags_end_at_two_dashes_or_at_what_is_none() {
    let rest = |arguments: &[&str]| parse(arguments).map(|parsed| parsed.rest().to_vec());
    assert_eq!(
        rest(&["--v", "--", "--v", "x"]),
        Ok(vec!["--v".to_owned(), "x".to_owned()])
    );
    assert_eq!(rest(&["-"]), Ok(vec!["-".to_owned()]));
    assert_eq!(
        rest(&["", "--nope"]),
        Ok(vec![String::new(), "--nope".to_owned()])
    );
}

#[test]
fn defaults_hold() {
    let keys = sample();
    let parsed = parse(&[]).expect("flags");
    assert_eq!(parsed.get(keys.port), 9445);
    assert_eq!(parsed.get(keys.ttl).to_string(), "30m0s");
    assert_eq!(parsed.get(keys.name), "x");
}

#[test]
fn wrong_command_lines_are_said_in_words_of_go() {
    check_wrong(&["--nope"], "flag provided but not defined: -nope");
    check_wrong(&["-nope=3"], "flag provided but not defined: -nope");
    check_wrong(&["---port=1"], "bad flag syntax: ---port=1");
    check_wrong(&["-=1"], "bad flag syntax: -=1");
    check_wrong(&["--port"], "flag needs an argument: -port");
    check_wrong(
        &["--port=x"],
        "invalid value \"x\" for flag -port: parse error",
    );
    check_wrong(
        &["--port="],
        "invalid value \"\" for flag -port: parse error",
    );
    check_wrong(
        &["--port=9223372036854775808"],
        "invalid value \"9223372036854775808\" for flag -port: value out of range",
    );
    check_wrong(
        &["--v=yes"],
        "invalid boolean value \"yes\" for -v: parse error",
    );
    check_wrong(
        &["--ttl=5"],
        "invalid value \"5\" for flag -ttl: parse error",
    );
}

#[test]
fn integers_are_those_of_go() {
    let keys = sample();
    let get = |text: &str| {
        let parsed = parse(&[&format!("--port={text}")]);
        parsed.map(|parsed| parsed.get(keys.port)).ok()
    };
    assert_eq!(get("0x10"), Some(16));
    assert_eq!(get("-0b11"), Some(-3));
    assert_eq!(get("017"), Some(15));
    assert_eq!(get("0o17"), Some(15));
    assert_eq!(get("+5"), Some(5));
    assert_eq!(get("0"), Some(0));
    assert_eq!(get("0x_1f"), Some(31));
    assert_eq!(get("-9223372036854775808"), Some(i64::MIN));
    assert_eq!(get("1_000"), None);
    assert_eq!(get("0_1_"), None);
    assert_eq!(get("08"), None);
    assert_eq!(get(" 1"), None);
    assert_eq!(get("+-1"), None);
    assert_eq!(get("0x"), None);
}

#[test]
fn help_shows_all_flags_in_order() {
    let stop = parse(&["-h"]).expect_err("help");
    assert_eq!(stop.exit_code(), 0);
    let wanted = "\
Usage of prog:
  -name NAME
    \tthe NAME of it (default \"x\")
  -port int
    \tThe server port (default 9445)
  -ttl duration
    \thow long
    \tit lives (default 30m0s)
  -v\ttalk
  -warm
    \tif true, warm up (default true)
";
    assert_eq!(stop.text(), wanted);
}

#[test]
fn some_flags_are_given_several_times() {
    let mut set = FlagSet::new("prog");
    let header: Key<Vec<String>> = set.add("header", Vec::new(), "one more header");
    let arguments = ["-header", "a: 1", "--header=b: 2"].map(str::to_owned);
    let parsed = set.parse(arguments).unwrap();
    assert_eq!(parsed.get(header), ["a: 1", "b: 2"]);
    assert_eq!(
        set.usage(),
        "Usage of prog:\n  -header value\n    \tone more header\n"
    );
}
