//! How programs print a text: in a structure with escapes, which differ, in base64, or shortened.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use kiln_go::{json_string, quote};

/// A text in a structure that is printed, and this structure in another one.
const LEVELS: usize = 2;

/// Programs such as `base64` break longer lines.
const BASE64_LINE: usize = 76;
/// A longer text is only searched for without these breaks, because of the size of the search.
const LONGEST_IN_LINES: usize = 16 << 10;

/// Shorter parts of an encoded text occur in other words.
const SHORTEST_ENCODED: usize = 6;

/// Go's parser of YAML shows so many bytes of a value that has more than these.
const SHORTENED: (usize, usize) = (7, 10);

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

/// The text in base64, with and without padding, also with the line break that `echo` and editors put behind it.
pub(super) fn encoded(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for text in [text.to_owned(), format!("{text}\n")] {
        let standard = STANDARD.encode(&text);
        if standard.len() <= LONGEST_IN_LINES {
            let for_addresses = URL_SAFE.encode(&text);
            for encoded in [&standard, &for_addresses] {
                found.extend(base64_lines(encoded));
            }
            found.insert(for_addresses.trim_end_matches('=').to_owned());
            found.insert(for_addresses);
        }
        found.insert(standard.trim_end_matches('=').to_owned());
        found.insert(standard);
    }
    found.retain(|encoded| encoded.len() >= SHORTEST_ENCODED);
    found
}

fn base64_lines(encoded: &str) -> impl Iterator<Item = String> {
    let lines = encoded.as_bytes().chunks(BASE64_LINE);
    lines.map(|line| String::from_utf8_lossy(line).into_owned())
}

/// The beginning of a text, as messages of Go's parser of YAML have it.
pub(super) fn shortened(text: &str) -> Option<String> {
    let (shown, longest) = SHORTENED;
    let start = text.get(..text.floor_char_boundary(shown))?;
    (text.len() > longest).then(|| format!("{start}..."))
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
