//! How js-yaml changes values, and which families of annotations are kept.

use kiln_krm::Resource;
use kiln_yaml::{SequenceStyle, parse, to_string};

use super::{Exception, Objects, in_step};

fn through(text: &str) -> Result<String, Exception> {
    let item = |text: &str| Resource::new(parse(text).unwrap().unwrap());
    let mut objects = Objects::new(vec![item(text)])?;
    in_step(&mut objects, |_| Ok(()))?;
    let texts = objects.into_items();
    let texts = texts
        .iter()
        .map(|item| to_string(item.document(), SequenceStyle::Compact));
    Ok(texts.collect())
}

#[track_caller]
fn check(before: &str, after: &str) {
    let head = "apiVersion: v1\nkind: K\nmetadata:\n  name: x\n";
    assert_eq!(
        through(&format!("{head}{before}")).unwrap(),
        format!("{head}{after}")
    );
}

#[test]
fn numbers_are_those_of_javascript() {
    check(
        "a: [1_000, 0x1F, 017, 1.0, 1e3, 1e21, 0.0000001, 1:30, -0, -0.0, .Inf, 12345678901234567890]\n",
        "a:\n- 1000\n- 31\n- 15\n- 1\n- 1000\n- 1e+21\n- 1.e-7\n- 90\n- 0\n- -0.0\n- .inf\n- 12345678901234567000\n",
    );
}

#[test]
fn dates_are_in_utc() {
    check(
        "a: 2020-02-29\nb: 2001-12-14t21:59:43.10-05:00\n",
        "a: 2020-02-29T00:00:00.000Z\nb: 2001-12-15T02:59:43.100Z\n",
    );
}

#[test]
fn strings_get_quotes_where_js_yaml_wants_them() {
    check(
        "a: \"x\"\nb: a:b\nc: \"true\"\nd: yes\ne: \"\"\nf: -x\ng: \"a\\tb\"\nh: 'a # b'\ni: x#y\nj: \"😀\"\nk: \"a\\nb\"\n",
        "a: x\nb: 'a:b'\nc: 'true'\nd: 'yes'\ne: ''\nf: '-x'\ng: \"a\\tb\"\nh: 'a # b'\ni: x#y\nj: \"\\U0001F600\"\nk: |-\n  a\n  b\n",
    );
}

#[test]
fn comments_anchors_and_merges_are_gone_and_indexes_come_first() {
    check(
        "# c\nx: &a {q: 1, 10: z, 2: y} # l\ny: *a\nz:\n  <<: *a\n  q: 2\n",
        "x:\n  '2': 'y'\n  '10': z\n  q: 1\n'y':\n  '2': 'y'\n  '10': z\n  q: 1\nz:\n  '2': 'y'\n  '10': z\n  q: 2\n",
    );
}

#[test]
fn a_bomb_of_aliases_is_refused() {
    let mut text = "apiVersion: v1\nkind: K\nmetadata: {name: x}\na0: &a0 [x, x]\n".to_owned();
    for level in 1..40 {
        let below = level - 1;
        text.push_str(&format!("a{level}: &a{level} [*a{below}, *a{below}]\n"));
    }
    assert!(through(&text).is_err());
}

#[test]
fn annotations_keep_their_family_and_empty_ones_go() {
    let with = |annotations: &str| {
        through(&format!(
            "apiVersion: v1\nkind: K\nmetadata:\n  name: x\n  annotations: {annotations}\n"
        ))
    };
    let older = "{config.kubernetes.io/path: a.yaml, internal.config.kubernetes.io/path: b.yaml}";
    assert_eq!(
        with(older),
        Err(Exception(
            "Error: the legacy and internal annotation values mismatch".to_owned()
        ))
    );
    let plain = "apiVersion: v1\nkind: K\nmetadata:\n  name: x\n";
    assert_eq!(with("{}").as_deref(), Ok(plain));
    let one = format!("{plain}  annotations:\n    internal.config.kubernetes.io/path: a.yaml\n");
    assert_eq!(
        with("{internal.config.kubernetes.io/path: a.yaml}"),
        Ok(one)
    );
}
