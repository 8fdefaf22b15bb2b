//! Random documents and random edits: what is patched is what is merged.

use kiln_yaml::{Document, NodeId, NodeRef, SequenceStyle};

use super::super::super::Unmarked;
use super::super::patch;

const SCALARS: [&str; 12] = [
    "a",
    "word",
    "two words",
    "1",
    "1.50",
    "true",
    "''",
    "'quoted'",
    "\"it's\"",
    "https://example.com:8443/x?y=1#z",
    "null",
    "~",
];
const NEW_VALUES: [&str; 10] = [
    "other",
    "a b",
    "1",
    "true",
    "",
    "x: y",
    "- z",
    "# no comment",
    "it's",
    "two\nlines",
];

/// Numbers that look like chance and are the same each time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn is_one_of(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'t>(&mut self, texts: &[&'t str]) -> &'t str {
        texts[self.below(texts.len())]
    }
}

/// Writes documents in lines as the encoder writes them, with blank lines and comments between them.
struct Writer {
    text: String,
    chance: Chance,
    style: SequenceStyle,
}

impl Writer {
    fn document(seed: u64) -> String {
        let mut chance = Chance(seed);
        let style = match chance.is_one_of(2) {
            true => SequenceStyle::Compact,
            false => SequenceStyle::Wide,
        };
        let mut writer = Writer {
            text: String::new(),
            chance,
            style,
        };
        writer.text.push_str("apiVersion: v1\nkind: A\n");
        writer.mapping(0, 0);
        writer.text
    }

    fn line_above(&mut self, indent: usize) {
        if self.chance.is_one_of(9) {
            self.text.push('\n');
        }
        if self.chance.is_one_of(7) {
            self.text.push_str(&format!("{:indent$}# above\n", ""));
        }
    }

    fn end_of_line(&mut self) {
        let comment = match self.chance.is_one_of(6) {
            true => " # beside\n",
            false => "\n",
        };
        self.text.push_str(comment);
    }

    fn mapping(&mut self, indent: usize, depth: usize) {
        for number in 0..=self.chance.below(4) {
            self.line_above(indent);
            self.text.push_str(&format!("{:indent$}", ""));
            self.entry(number, indent, depth);
        }
    }

    fn entry(&mut self, number: usize, indent: usize, depth: usize) {
        let quote = self.chance.pick(&["", "", "", "'", "\""]);
        self.text.push_str(&format!("{quote}k{number}{quote}:"));
        let deepest = if depth > 3 { 4 } else { 9 };
        match self.chance.below(deepest) {
            0 => {
                let flow = self
                    .chance
                    .pick(&["{}", "[]", "{a: b}", "[a, 'b']", "{a: {b: c}}"]);
                self.text.push_str(&format!(" {flow}"));
                self.end_of_line();
            }
            1 => {
                let lines = format!(" |\n{0:indent$}  text: x\n{0:indent$}  # y\n", "");
                self.text.push_str(&lines);
            }
            2 | 3 => {
                let scalar = self.chance.pick(&SCALARS);
                self.text.push_str(&format!(" {scalar}"));
                self.end_of_line();
            }
            4 | 5 => {
                self.text.push('\n');
                self.mapping(indent + 2, depth + 1);
            }
            _ => {
                self.text.push('\n');
                let indent = match self.style {
                    SequenceStyle::Compact => indent,
                    SequenceStyle::Wide => indent + 2,
                };
                self.sequence(indent, depth + 1);
            }
        }
    }

    fn sequence(&mut self, indent: usize, depth: usize) {
        for number in 0..=self.chance.below(3) {
            // Behind a blank line the style of a list is not recognised, and a merge writes its lines in the other one.
            if number > 0 {
                self.line_above(indent);
            }
            self.text.push_str(&format!("{:indent$}- ", ""));
            if self.chance.is_one_of(2) {
                let scalar = self.chance.pick(&SCALARS);
                self.text.push_str(scalar);
                self.end_of_line();
            } else {
                self.entry(0, indent + 2, depth);
                if self.chance.is_one_of(2) {
                    self.text.push_str(&format!("{:indent$}  ", ""));
                    self.entry(1, indent + 2, depth);
                }
            }
        }
    }
}

/// All mappings of a document, and the keys of their scalars.
fn places(document: &Document) -> Vec<(NodeId, Vec<String>)> {
    let mut places = Vec::new();
    let mut pending = vec![document.root()];
    while let Some(node) = pending.pop() {
        if node.is_mapping() {
            let scalars = node.entries().filter(|(_, value)| value.is_scalar());
            let keys = scalars.map(|(key, _)| key.value().to_owned());
            places.push((node.id(), keys.collect()));
        }
        pending.extend(
            node.children()
                .filter(|child: &NodeRef<'_>| !child.is_empty()),
        );
    }
    places
}

/// Another value, a new field, or a new field in a new mapping.
fn edit(document: &mut Document, chance: &mut Chance) {
    let places = places(document);
    let (mapping, keys) = &places[chance.below(places.len())];
    let value = chance.pick(&NEW_VALUES);
    let is_new = keys.is_empty() || chance.is_one_of(3);
    let path: &[&str] = match chance.below(3) {
        0 if is_new => &["new", "inner"],
        _ if is_new => &["new"],
        _ => &[&keys[chance.below(keys.len())]],
    };
    // A text cannot have a field; then there is no edit.
    let _ = document.node_mut(*mapping).set_string(path, value);
}

fn filled_lines(text: &str) -> Vec<&str> {
    text.lines().filter(|line| !line.is_empty()).collect()
}

#[test]
fn random_edits_are_patched_as_they_are_merged() {
    let mut merged_count = 0;
    for seed in 1..4_000 {
        let text = Writer::document(seed);
        let Ok(Some(before)) = kiln_yaml::parse(&text) else {
            panic!("{text}");
        };
        let mut chance = Chance(seed);
        let mut after = before.clone();
        for _ in 0..=chance.below(3) {
            edit(&mut after, &mut chance);
        }
        let Some(edits) = after.edits_since(&before) else {
            continue;
        };
        after.restore_comments(&before, &edits.lost_comments);
        let Some(patched) = patch(&before, &after, &edits) else {
            continue;
        };
        let new = Unmarked {
            document: after,
            style: SequenceStyle::Compact,
        };
        assert!(new.is_text(&patched, &text), "{seed}\n{text}\n{patched}");
        // Some texts cannot be merged line by line, and would be encoded again.
        let Some(merged) = new.to_yaml_like(&text, None, "\n") else {
            continue;
        };
        merged_count += 1;
        // A merge loses blank lines between changed lines; a patch keeps all.
        let has_blank_lines = text.contains("\n\n");
        match has_blank_lines {
            true => assert_eq!(
                filled_lines(&patched),
                filled_lines(&merged),
                "{seed}\n{text}"
            ),
            false => assert_eq!(patched, merged, "{seed}\n{text}"),
        }
        let blank_lines = |text: &str| text.lines().filter(|line| line.is_empty()).count();
        assert_eq!(blank_lines(&patched), blank_lines(&text), "{seed}\n{text}");
    }
    assert!(merged_count > 1_000, "{merged_count}");
}
