//! Writes Terraform's configuration language line by line, in a given layout.

use std::fmt::{Display, Write};

use crate::output::Printed;

/// A text that grows by lines. Each line begins with its line break, so that the next call decides whether the text
/// ends with one.
#[derive(Default)]
pub(super) struct Hcl {
    text: Printed,
}

/// The layout of the attributes of a block: indentation, and the column of the values.
#[derive(Clone, Copy)]
pub(super) struct Layout {
    pub(super) indent: usize,
    pub(super) width: usize,
}

pub(super) const fn layout(indent: usize, width: usize) -> Layout {
    Layout { indent, width }
}

impl Hcl {
    pub(super) fn line(&mut self, line: impl Display) {
        // Writing to a string cannot fail.
        let _ = write!(self.text, "\n{line}");
    }

    /// The beginning of a module, up to its arguments.
    pub(super) fn module(
        &mut self,
        indent: usize,
        name: impl Display,
        (source, version): (&str, &str),
    ) {
        let attributes = layout(indent, 7);
        let source = format_args!("terraform-google-modules/{source}");
        self.line(format_args!("module \"{name}\" {{"));
        self.text(attributes, "source", source);
        self.text(attributes, "version", version);
        self.line("");
    }

    /// An empty line, to which [`Hcl::more`] may append.
    pub(super) fn blank(&mut self) {
        self.text.push_str("\n");
    }

    /// Appends to the current line.
    pub(super) fn more(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// `name = value`
    pub(super) fn attribute(&mut self, layout: Layout, name: &str, value: impl Display) {
        let Layout { indent, width } = layout;
        let _ = write!(self.text, "\n{:indent$}{name:<width$} = {value}", "");
    }

    /// `name = "value"`. The value is not escaped.
    pub(super) fn text(&mut self, layout: Layout, name: &str, value: impl Display) {
        self.attribute(layout, name, format_args!("\"{value}\""));
    }

    /// The same, unless the value is empty.
    pub(super) fn text_if_any(&mut self, layout: Layout, name: &str, value: &str) {
        if !value.is_empty() {
            self.text(layout, name, value);
        }
    }

    /// The same for a number, unless it is zero.
    pub(super) fn number_text_if_any(&mut self, layout: Layout, name: &str, value: i64) {
        if value != 0 {
            self.text(layout, name, value);
        }
    }

    /// Ends a block and its line.
    pub(super) fn end(&mut self) {
        self.text.push_str("\n}\n");
    }

    /// The trimmed text; `None` if it is empty.
    pub(super) fn finish(self) -> Option<String> {
        let text = self.text.trim();
        (!text.is_empty()).then(|| format!("{text}\n"))
    }
}
