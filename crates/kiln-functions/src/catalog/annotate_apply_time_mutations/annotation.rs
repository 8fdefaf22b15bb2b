//! The text of the annotation: YAML as go-yaml v2 writes it, which quotes strings that YAML 1.1 reads as another type
//! and breaks lines at spaces beyond a width of 80.

use kiln_krm::record::is_base_60;
use kiln_yaml::{Document, SequenceStyle, Style, is_yaml_1_1_non_string};

use super::substitution::Substitution;

/// Beyond this column a line is broken at the next space.
const WIDTH: usize = 80;

pub(super) fn annotation_text(substitutions: &[Substitution]) -> String {
    let mut text = String::new();
    for substitution in substitutions {
        let source = &substitution.source;
        push_field(&mut text, "- sourcePath", &substitution.source_path);
        text.push_str("  sourceRef:\n");
        for (name, value) in [
            ("    apiVersion", &source.api_version),
            ("    group", &source.group),
            ("    kind", &source.kind),
            ("    name", &source.name),
            ("    namespace", &source.namespace),
        ] {
            if !value.is_empty() || name == "    kind" {
                push_field(&mut text, name, value);
            }
        }
        push_field(&mut text, "  targetPath", &substitution.target_path);
        if !substitution.token.is_empty() {
            push_field(&mut text, "  token", &substitution.token);
        }
    }
    text
}

/// Adds `name: value`. The characters before the first letter of the name are the indentation.
fn push_field(text: &mut String, name: &str, value: &str) {
    let depth = name.len() - name.trim_start_matches(['-', ' ']).len();
    let start = format!("{name}: ");
    text.push_str(&start);
    let scalar = scalar_text(value);
    match scalar.split_once('\n') {
        Some((first, rest)) => {
            text.push_str(first);
            for line in rest.split('\n') {
                text.push('\n');
                if !line.is_empty() {
                    text.push_str(&" ".repeat(depth));
                    text.push_str(line);
                }
            }
        }
        None => push_folded(text, &scalar, start.len(), depth + 2),
    }
    text.push('\n');
}

/// A string as the value of an unindented field; the first line comes without the field.
fn scalar_text(value: &str) -> String {
    let mut document = Document::new_mapping();
    let root = document.root().id();
    let (key, node) = (document.new_scalar("k", ""), document.new_string(value));
    if value.contains('\n') {
        document.set_style(node, Style::LITERAL);
    } else if is_misread(value) {
        document.set_style(node, Style::DOUBLE_QUOTED);
    }
    document.push_entry(root, key, node);
    let text = kiln_yaml::to_string(&document, SequenceStyle::Compact);
    let text = text.strip_prefix("k: ").unwrap_or(&text);
    text.strip_suffix('\n').unwrap_or(text).to_owned()
}

/// Whether an unquoted text would be read as something other than a string.
fn is_misread(text: &str) -> bool {
    if text.is_empty() || text == "<<" || is_base_60(text) {
        return true;
    }
    // The check reads the text as a document; here only scalars count.
    is_yaml_1_1_non_string(text)
        && kiln_yaml::parse(text).is_ok_and(|document| {
            document.is_some_and(|document| {
                let root = document.root();
                root.is_scalar() && root.value() == text
            })
        })
}

/// Adds a scalar of one line, broken where the line gets too long.
fn push_folded(text: &mut String, scalar: &str, mut column: usize, indent: usize) {
    let is_double_quoted = scalar.starts_with('"');
    let is_quoted = is_double_quoted || scalar.starts_with('\'');
    let mut chars = scalar.chars().enumerate().peekable();
    let count = scalar.chars().count();
    let mut follows_space = false;
    while let Some((at, c)) = chars.next() {
        let next_is_space = chars.peek().is_some_and(|(_, next)| *next == ' ');
        // Within quotes a line is not broken at the first or the last character.
        let is_inner = !is_quoted || at > 1 && at + 2 < count;
        let may_break = c == ' '
            && !follows_space
            && column > WIDTH
            && is_inner
            && (is_double_quoted || !next_is_space);
        follows_space = c == ' ';
        if may_break {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
            if is_double_quoted && next_is_space {
                text.push('\\');
                column += 1;
            }
        } else {
            text.push(c);
            column += 1;
        }
    }
}
