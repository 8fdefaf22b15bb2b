//! Values as text, as Go writes maps: keys in order, and `<`, `>` and `&` escaped.

use kiln_go::push_json_string;

use super::{JsonContent, JsonRef};

/// How deep a value may be nested to have a text.
const MAX_DEPTH: usize = 400;

impl JsonRef<'_> {
    /// The text of a value, unless it is nested beyond reason.
    pub(crate) fn to_text(self) -> Option<String> {
        let mut text = String::new();
        self.write(&mut text, 0)?;
        Some(text)
    }

    fn write(self, text: &mut String, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        match self.content() {
            JsonContent::Null => text.push_str("null"),
            JsonContent::Bool(value) => text.push_str(&value.to_string()),
            JsonContent::Int(value) => text.push_str(&value.to_string()),
            JsonContent::Float(value) => text.push_str(&value.to_string()),
            JsonContent::String(string) => push_json_string(text, string),
            JsonContent::Array => {
                text.push('[');
                for (at, item) in self.items().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    item.write(text, depth + 1)?;
                }
                text.push(']');
            }
            JsonContent::Object => {
                let mut fields: Vec<_> = self.fields().collect();
                fields.sort_by_key(|(name, _)| *name);
                text.push('{');
                for (at, (name, value)) in fields.into_iter().enumerate() {
                    if at > 0 {
                        text.push(',');
                    }
                    push_json_string(text, name);
                    text.push(':');
                    value.write(text, depth + 1)?;
                }
                text.push('}');
            }
        }
        Some(())
    }
}
