//! How programs write a text into a structure: with escapes, which differ.

use std::collections::BTreeSet;

use kiln_go::{json_string, quote};

/// A text in a structure that is printed, and this structure in another one.
const LEVELS: usize = 2;

/// The text, and every other spelling of it without the quotes around.
pub(super) fn spellings(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::from([text.to_owned()]);
    let mut last = vec![text.to_owned()];
    for _ in 0..LEVELS {
        let escaped: BTreeSet<String> = last.iter().flat_map(|text| escaped(text)).collect();
        last = escaped.difference(&found).cloned().collect();
        found.extend(last.iter().cloned());
    }
    found
}

fn escaped(text: &str) -> [String; 5] {
    [
        without_quotes(&json_string(text)),
        // Rego and Starlark write most texts like Go.
        without_quotes(&quote(text)),
        as_ascii(&without_quotes(&json_string(text))),
        // Python, and YAML in single quotes.
        without_quotes(&quote(text))
            .replace("\\\"", "\"")
            .replace('\'', "\\'"),
        text.replace('\'', "''"),
    ]
}

fn without_quotes(quoted: &str) -> String {
    let text = quoted.strip_prefix('"');
    let text = text.and_then(|text| text.strip_suffix('"'));
    text.unwrap_or(quoted).to_owned()
}

/// JSON as programs write it that avoid other characters than ASCII, such as Python's.
fn as_ascii(json: &str) -> String {
    let mut ascii = String::with_capacity(json.len());
    for c in json.chars() {
        match c.is_ascii() {
            true => ascii.push(c),
            false => {
                let units = c.encode_utf16(&mut [0; 2]).to_vec();
                ascii.extend(units.iter().map(|unit| format!("\\u{unit:04x}")));
            }
        }
    }
    ascii
}
