//! The one text of a lock file.

use crate::FunctionLock;

const HEADER: &str = "# Made by kiln. Commit it; `kiln lock --update` renews it.\nversion: 1\n";
/// Reserved for packages, which `upstreamLock` in Kptfiles has today.
const UPSTREAM: &str = "upstream: []\n";

impl FunctionLock {
    /// The text of the file. Equal locks have equal texts.
    pub fn to_text(&self) -> String {
        let mut text = HEADER.to_owned();
        text.push_str(match self.functions.is_empty() {
            true => "functions: []\n",
            false => "functions:\n",
        });
        for (key, function) in &self.functions {
            let tag = (!key.tag.is_empty()).then_some(&key.tag);
            let fields = [
                ("- image", Some(&key.image)),
                ("  tag", tag),
                ("  resolved", Some(&function.resolved)),
                ("  digest", function.digest.as_ref()),
                ("  native", function.native.as_ref()),
                ("  wasm", function.wasm.as_ref()),
            ];
            for (name, value) in fields {
                if let Some(value) = value {
                    text.push_str(&format!("{name}: {}\n", scalar(value)));
                }
            }
        }
        text.push_str(UPSTREAM);
        text
    }
}

/// A text as a YAML scalar that every reader takes for the same text.
fn scalar(text: &str) -> String {
    if text.chars().any(char::is_control) {
        return kiln_go::json_string(text);
    }
    match is_plain(text) {
        true => text.to_owned(),
        false => format!("'{}'", text.replace('\'', "''")),
    }
}

/// Whether a text needs no quotes. Some of those that need none get them too.
fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 8] = ["true", "false", "null", "yes", "no", "on", "off", "y"];
    let is_word = WORDS.iter().any(|word| text.eq_ignore_ascii_case(word));
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._/:@~^+#-".contains(c);
    // A name that starts with a digit is not a number if it has a path.
    let starts_well = match text.chars().next() {
        Some(first) if first.is_ascii_digit() => text.contains('/'),
        Some('~' | '^') => text.len() > 1,
        Some(first) => first.is_ascii_alphabetic() && !text.eq_ignore_ascii_case("n"),
        None => false,
    };
    starts_well && text.chars().all(is_allowed) && !text.ends_with(':') && !is_word
}
