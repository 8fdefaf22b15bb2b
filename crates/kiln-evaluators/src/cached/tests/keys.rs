//! Which calls have the same key.

use kiln_krm::Dialect;
use kiln_runtime::{Certainty, FunctionIdentity, Input, ReproducibleCall};
use kiln_store::ResultKey;

use super::super::key::{SCHEME, answer_key};
use super::{call, list};

/// Every field that an answer depends on is part of the key.
#[test]
fn each_field_makes_another_key() {
    let text = list("");
    let input = Input::from_wire(Dialect::Current, &text);
    let base = || call("1");
    let texts = |texts: &[&str]| -> Vec<Vec<u8>> {
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    };
    let calls = [
        base(),
        call("2"),
        ReproducibleCall {
            identity: FunctionIdentity::exec("1"),
            ..base()
        },
        ReproducibleCall {
            interface: "gojs",
            ..base()
        },
        ReproducibleCall {
            platform: Some("linux/amd64".to_owned()),
            ..base()
        },
        ReproducibleCall {
            platform: Some(String::new()),
            ..base()
        },
        ReproducibleCall {
            arguments: texts(&["fn", "a"]),
            ..base()
        },
        ReproducibleCall {
            arguments: texts(&["fna"]),
            ..base()
        },
        ReproducibleCall {
            arguments: Vec::new(),
            environment: texts(&["fn"]),
            ..base()
        },
        ReproducibleCall {
            environment: texts(&["A=1"]),
            ..base()
        },
        ReproducibleCall {
            environment: texts(&["A=1", "B=2"]),
            ..base()
        },
        ReproducibleCall {
            memory: Some(1),
            ..base()
        },
        ReproducibleCall {
            memory: None,
            ..base()
        },
    ];
    let mut keys: Vec<ResultKey> = calls.iter().map(|call| answer_key(call, &input)).collect();
    // One byte of the input, a comment, the order, the dialect.
    for text in [
        text.replace("Secret", "secret"),
        text.replace("items:", "items: # all"),
        format!("{text}- kind: B\n- kind: A\n"),
        format!("{text}- kind: A\n- kind: B\n"),
        format!("{text}functionConfig:\n  a: 1\n"),
        format!("{text}functionConfig:\n  a: 2\n"),
    ] {
        keys.push(answer_key(
            &base(),
            &Input::from_wire(Dialect::Current, &text),
        ));
    }
    keys.push(answer_key(
        &base(),
        &Input::from_wire(Dialect::Legacy, &text),
    ));
    for (at, key) in keys.iter().enumerate() {
        let same = keys.iter().filter(|other| *other == key).count();
        assert_eq!(same, 1, "key {at} is not unique");
    }
    // What does not matter to the answer.
    let assumed = ReproducibleCall {
        certainty: Certainty::Assumed,
        ..base()
    };
    assert_eq!(answer_key(&assumed, &input), keys[0]);
}

/// If this fails, the fields of a key or their meaning have changed: raise `SCHEME` and put the new key here.
#[test]
fn the_scheme_is_raised_when_a_field_changes() {
    let text = list("");
    let key = answer_key(&call("1"), &Input::from_wire(Dialect::Current, &text));
    let expected = (
        2,
        "e763fa01e21b6f85277ddc43eb34436dd2ebb73290e6337d9a98e9a003332eea",
    );
    assert_eq!((SCHEME, key.hex()), expected);
}
