//! How a command ends that did not do what it should.

use super::record::{Level, Record};

/// The end of a command that has told all there is to tell, or is told in these very words.
#[derive(Debug, Default)]
pub(crate) struct Failed {
    /// What is told; nothing if it was told before.
    pub(crate) message: Option<String>,
    /// What the message does not say.
    pub(crate) details: Details,
}

/// Where it happened, and what can be done.
#[derive(Debug, Default, Clone)]
pub(crate) struct Details {
    /// The package's name in messages.
    pub(crate) package: Option<String>,
    /// The image or command line.
    pub(crate) function: Option<String>,
    /// The file as the user would name it, and the place in it.
    pub(crate) place: Option<Place>,
    /// What the user can do next.
    pub(crate) hint: Option<String>,
}

/// A place in a file.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    /// The line itself; empty if the message shows it.
    pub(crate) text: String,
}

impl Failed {
    /// All has been told.
    pub(crate) fn told() -> Failed {
        Failed::default()
    }

    /// These very words, and nothing besides.
    pub(crate) fn with(message: impl Into<String>) -> Failed {
        Failed {
            message: Some(message.into()),
            ..Failed::default()
        }
    }

    /// The message with all that is known.
    pub(crate) fn text(&self) -> Option<String> {
        let mut text = self.message.clone()?;
        if self.details.is_empty() {
            return Some(text);
        }
        text.truncate(text.trim_end().len());
        text.push_str(&self.details.text());
        Some(text)
    }

    /// The same for programs.
    pub(crate) fn record(&self) -> Option<Record<'_>> {
        let message = self.message.as_deref()?.trim();
        let message = message.strip_prefix("Error: ").unwrap_or(message);
        let message = message.strip_prefix("error: ").unwrap_or(message);
        let details = &self.details;
        let place = details.place.as_ref();
        Some(Record {
            level: Level::Error,
            event: "error",
            package: details.package.as_deref(),
            function: details.function.as_deref(),
            file: place.map(|place| place.file.as_str()),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            message: Some(message),
            hint: details.hint.as_deref(),
            ..Record::default()
        })
    }
}

impl Details {
    fn is_empty(&self) -> bool {
        let Details {
            package,
            function,
            place,
            hint,
        } = self;
        package.is_none() && function.is_none() && place.is_none() && hint.is_none()
    }

    fn text(&self) -> String {
        let quote = kiln_go::quote;
        let mut text = String::new();
        let place = self.place.as_ref().filter(|place| !place.text.is_empty());
        let place = place.map(Place::to_string);
        let function = self.function.as_ref();
        let function = function.map(|function| format!("function {}", quote(function)));
        let package = self.package.as_ref();
        let package = package.map(|package| format!("package {}", quote(package)));
        let word = if place.is_some() { "at" } else { "in" };
        let whereabouts: Vec<String> = [place, function, package].into_iter().flatten().collect();
        if !whereabouts.is_empty() {
            text.push_str(&format!("\n  {word} {}", whereabouts.join(", ")));
        }
        if let Some(shown) = self.place.as_ref().and_then(Place::shown) {
            text.push('\n');
            text.push_str(&shown);
        }
        if let Some(hint) = &self.hint {
            text.push_str(&format!("\nhint: {hint}"));
        }
        text
    }
}

impl Place {
    /// The line with a caret below the place.
    fn shown(&self) -> Option<String> {
        let text: String = self.text.chars().map(visible).collect();
        if text.trim().is_empty() {
            return None;
        }
        let Place { line, column, .. } = self;
        let gutter = line.to_string().len();
        let before = text.chars().take(column.saturating_sub(1));
        let pad: String = before.map(|c| if c == '\t' { c } else { ' ' }).collect();
        Some(format!("{line} | {text}\n{:gutter$} | {pad}^", ""))
    }
}

/// Nothing in a file may speak to a terminal.
fn visible(c: char) -> char {
    match c {
        '\t' => c,
        _ if c.is_control() => char::REPLACEMENT_CHARACTER,
        _ => c,
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Place {
            file, line, column, ..
        } = self;
        write!(f, "{file}:{line}:{column}")
    }
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.text().as_deref().unwrap_or("failed"))
    }
}

impl std::error::Error for Failed {}
