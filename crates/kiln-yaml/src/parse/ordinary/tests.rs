//! The short way leads to the same trees as the long one.

use std::fs;
use std::sync::Arc;

use super::super::read_tokens;
use super::{has_ordinary_characters, is_ordinary, read};

const ORDINARY: &str = r#"# Copyright of the authors
#
# who has rights.


# Above the first entry.
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
# Above an item.
- apiVersion: apps/v1
  kind: Deployment # beside
  is: here
  # Above a key,
  # on two lines.
  metadata:
    name: web
    annotations:
      # deeper
      internal.config.kubernetes.io/index: '0'
      note: "a \"b\" #c: d\n"
      empty: ""
  spec:
    replicas: -3
    selector: {matchLabel: app-1, other: "x, y"} # flow
    nothing:
    $managed: # by others
      f:spec:
        .: {}
        f:replicas: {}
    template:
      # The main one comes first.
      containers:
        # and has
        # a name
        - name: main
          image: registry.example.com/team/app:v1.2.0   
          args: ["--port", 8080, --verbose]
          none: []
          env:
          # the first
          - name: URL
            value: https://example.com:8443/path?x=1#y # or another
          -
            name: LATE

        - name: side
      tolerations:
      - - a
        - b: c
          d: e
      # of scalars
      - text # beside
      - more
      # of flow
      - {a: b}
      # of sequences
      - - - z
      -
# Above, less deep.
- apiVersion: v1
  kind: ConfigMap
  data:
    config.ini: |
      [server]
      # of the file
        more: [ {

      key = 'v
    folded: >-

      text
      and more

      and

        indented
      rest
    folded-too: >
      a
      b


    keep: |+
    kept: |+
      a


    umlaut: Größe 漢字 … “x”
    message: 'it''s #1'
    long: a text that goes on
      below - with a dash -

      and a blank line
    longer: 'one that has: colons
      and ''quotes''


      # and no comment'
    longest: "with \"escapes\"
     and \\ other   

     things\n"
    empty-line: '

      '
    last: x
  list: # of two
    - x
  lists: # of three
  - |
    text: "
  - >
   one
  - plain
    lines
  - 'quoted
    lines'
functionConfig:
  apiVersion: v1
  kind: ConfigMap
  metadata: {name: config}
  data: { namespace: prod }
"#;

/// Compares both ways; says whether there was a short one.
#[track_caller]
fn check(text: &str) -> bool {
    let source: Arc<str> = text.into();
    let documents = match has_ordinary_characters(text.as_bytes()) {
        true => read(&source, usize::MAX),
        false => None,
    };
    let is_single = documents.as_ref().is_some_and(|all| all.len() == 1);
    assert_eq!(is_single, is_ordinary(text), "{text}");
    let Some(documents) = documents else {
        return false;
    };
    let (expected, error) = read_tokens(&source, None, usize::MAX);
    assert_eq!(error, None, "{text}");
    if format!("{documents:?}") != format!("{expected:?}") {
        assert_eq!(
            format!("{documents:#?}"),
            format!("{expected:#?}"),
            "{text}"
        );
    }
    true
}

#[test]
fn ordinary_documents_have_the_same_trees() {
    assert!(check(ORDINARY));
    for text in [
        "a: b",
        "a:",
        "---\na: b\n",
        "---\n\na:\n# b\n- c",
        "a:\n-",
        "a: |\n  b",
        "a: 'b' # c",
        "# c\na: b",
        "\n# c\n\na: b",
        "a:\n  b:\n\n  c: d\n\n",
        "a: b\n  c",
        "a: b\n\n  \n  c  ",
        "a: 'b\n c'  \nd: \"e\n\n f\"",
        "a: b\n---\nc: d\n",
        "---\na:\n---\n\nb:\n- c\n\n---\nd: |\n  e\n---\nf: g",
        "# a\n\nb: c\n---\nd: e\n  f\n---\ng: 'h\n i'\n",
    ] {
        assert!(check(text), "{text:?}");
    }
}

#[test]
fn what_is_not_ordinary_is_left_to_the_long_way() {
    let texts = [
        "",
        "# a\n",
        "  # a\nb: c",
        " \n# a\nb: c",
        "a",
        "- a",
        "  a: b",
        "a: [",
        "a: b: c",
        "a: b:",
        "a: 'b",
        "a: \"b\\/\"",
        "a: \"b\\q\"",
        "a: \"b\" c",
        "a: 'b'#",
        "a: {b: c",
        "a: {b: c}}",
        "a: {b: [c}]",
        "a: [b] c",
        "a: [-]",
        "a: *b",
        "a: &b c",
        "a: !b c",
        "a: <<",
        "<<: a",
        "a: - b",
        "a: -",
        "a: @b",
        "a: %b",
        "a: |x",
        "a: |2\n   b",
        "a: | # b\n  c",
        "a: |\n   b\n  c",
        "a: |\n    \n  c",
        "a:\n    b: c\n  d: e",
        "a: b\n  c: d",
        "a: b\n  c:",
        "a: b\n  c # d",
        "a: b\n  c\n  # d\n",
        "a: b\n  c\n# d\ne: f\n",
        "a: 'b\n  c' # d",
        "a: 'b\n  c' d",
        "a: 'b\nc'",
        "a: \"b\\\n  c\"",
        "a: b\n- c",
        "a:\n  - b\n  c: d",
        "a:\n- b\n  - c: d",
        "a: b\n---\n",
        "a: b\n---\n# c\nd: e\n",
        "a: b\n# c\n---\nd: e\n",
        "a: b\n--- c\n",
        "a: b\n...\n",
        "---\n",
        "---\n# a\nb: c\n",
        "--- \na: b\n",
        "# a\n---\nb: c\n",
        "%YAML 1.1\n---\na: b\n",
        "a: b # c\n# d\ne: f",
        "a: b\n\n# d\ne: f",
        "a: b\n# d\n\ne: f",
        "a: b\n  # d\ne: f",
        "a: b\n# d",
        "a:\n- # b\n  c",
        "a: |\n  b\n# c\nd: e",
        "a: \u{1}",
        "a: \u{85}b",
        "a: \u{2028}b",
        "a:\tb",
        "a: b\r\n",
        "\u{feff}a: b",
    ];
    for text in texts {
        assert!(!check(text), "{text:?}");
    }
}

#[test]
fn width_and_depth_have_their_limits() {
    assert!(check(&format!("{}: a", "k".repeat(400))));
    assert!(!check(&format!("{}: a", "k".repeat(401))));
    let nested = |depth: usize| {
        let line = |depth: usize| format!("{:depth$}a:\n", "");
        (0..depth).map(line).collect::<String>()
    };
    assert!(check(&nested(401)));
    assert!(!check(&nested(402)));
}

/// Everything that was recorded of the originals, whatever it was recorded for, and what damage makes of it.
#[test]
fn recorded_texts_have_the_same_trees() {
    let fixtures = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures");
    let (mut ordinary, mut chance) = (0, Chance(26));
    for entry in fs::read_dir(fixtures).expect("fixtures") {
        let path = entry.expect("a fixture").path();
        if path
            .extension()
            .is_none_or(|extension| extension != "jsonl")
        {
            continue;
        }
        for line in fs::read_to_string(&path).expect("text").lines() {
            let record: serde_json::Value = serde_json::from_str(line).expect("JSON");
            let fields = record.as_object().expect("an object").values();
            for text in fields.filter_map(serde_json::Value::as_str) {
                ordinary += usize::from(check(text));
                for _ in 0..3 {
                    check(&damaged(text, &mut chance));
                }
            }
        }
    }
    assert!(ordinary > 500, "{ordinary}");
}

/// Damages documents in many small ways.
#[test]
fn what_is_still_ordinary_has_the_same_tree() {
    let mut chance = Chance(25);
    let mut ordinary = 0;
    let (_, entries) = ORDINARY.split_once("entry.\n").expect("a header");
    let marked = format!("---\n{entries}");
    assert!(check(&marked));
    for round in 0..rounds() {
        let text = [ORDINARY, &marked][round % 2];
        ordinary += usize::from(check(&damaged(text, &mut chance)));
    }
    assert!(ordinary > rounds() / 20, "{ordinary}");
}

fn rounds() -> usize {
    let rounds = std::env::var("KILN_ROUNDS").ok();
    rounds
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(10_000)
}

fn damaged(text: &str, chance: &mut Chance) -> String {
    const PIECES: [&str; 36] = [
        " ",
        "  ",
        "\n",
        "-",
        "- ",
        ":",
        ": ",
        "#",
        " #",
        " # x",
        "\n# y\n",
        "\n  # y\n",
        "'",
        "\"",
        "{",
        "}",
        "[",
        "]",
        ",",
        "|",
        ">",
        "|-\n",
        ">+\n",
        "&a ",
        "*a",
        "!t ",
        "\\",
        "?",
        "a",
        "---\n",
        "...\n",
        "\n\n",
        "\n\n\n",
        "%",
        "é",
        "<<",
    ];
    let mut chars: Vec<char> = text.chars().collect();
    for _ in 0..=chance.below(3) {
        let at = chance.below(chars.len() + 1);
        match chance.below(4) {
            0 => drop(chars.drain(at..(at + 1).min(chars.len()))),
            1 => {
                let piece = PIECES[chance.below(PIECES.len())];
                chars.splice(at..at, piece.chars());
            }
            2 => {
                let end = (at + chance.below(40)).min(chars.len());
                chars.drain(at..end);
            }
            _ => {
                let end = (at + chance.below(40)).min(chars.len());
                let copied = chars[at..end].to_vec();
                let to = chance.below(chars.len() + 1);
                chars.splice(to..to, copied);
            }
        }
    }
    chars.into_iter().collect()
}

/// Numbers that look like chance and are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}
