//! The indentation of new lines in a text with its own indentation.
//!
//! Each unchanged line maps a column of the encoder to a column of the text. A new line is indented like its nearest
//! sibling or parent.

/// Columns of the lines written so far that a following line may belong to.
#[derive(Default)]
pub(super) struct Indentation {
    columns: Vec<Column>,
}

struct Column {
    /// Where the encoder puts it.
    encoded: usize,
    /// Where it is.
    actual: usize,
    is_dash: bool,
}

impl Indentation {
    /// Records a line that is at one column in the encoder's text and at another here.
    pub(super) fn note(&mut self, encoded: &str, actual: &str) {
        let (encoded, actual) = (starts(encoded), starts(actual));
        for (encoded, actual) in encoded.into_iter().zip(actual) {
            let (encoded, is_dash) = encoded;
            let is_over = |column: &mut Column| {
                column.encoded > encoded
                    || column.encoded == encoded && (column.is_dash || !is_dash)
            };
            while self.columns.pop_if(is_over).is_some() {}
            self.columns.push(Column {
                encoded,
                actual: actual.0,
                is_dash,
            });
        }
    }

    /// How far a line of the encoder is to be indented here. `next` is the next line of the encoder that is no
    /// comment, `ahead` are lines that follow, as the encoder has them and as they are.
    pub(super) fn of(&self, line: &str, next: Option<&str>, ahead: &[(&str, &str)]) -> usize {
        let (indent, is_dash) = match starts(line).first() {
            Some(start) => *start,
            None => self.start_of_comment(line, next),
        };
        let is_near = |column: &&Column| {
            column.encoded < indent || column.encoded == indent && (is_dash || !column.is_dash)
        };
        let near = self.columns.iter().rev().find(is_near);
        match near {
            Some(column) if column.encoded == indent && column.is_dash == is_dash => column.actual,
            // The first of its siblings, if there are some.
            near => sibling_ahead(indent, is_dash, ahead).unwrap_or_else(|| {
                near.map_or(indent, |column| column.actual + (indent - column.encoded))
            }),
        }
    }

    /// What a comment belongs to: the next line, if the encoder puts that at the same column, and otherwise what was last
    /// written there.
    fn start_of_comment(&self, comment: &str, next: Option<&str>) -> (usize, bool) {
        let indent = comment.len() - comment.trim_start_matches(' ').len();
        let following = next.and_then(|next| starts(next).first().copied());
        following
            .filter(|(column, _)| *column == indent)
            .unwrap_or_else(|| {
                let last = self.columns.iter().rfind(|it| it.encoded == indent);
                (indent, last.is_some_and(|column| column.is_dash))
            })
    }
}

pub(super) fn is_comment(line: &str) -> bool {
    line.trim_start_matches(' ').starts_with('#')
}

/// Where the next line is that the encoder puts at the same column, if it belongs to the same block.
fn sibling_ahead(indent: usize, is_dash: bool, ahead: &[(&str, &str)]) -> Option<usize> {
    for (encoded, actual) in ahead {
        let (encoded, actual) = (starts(encoded), starts(actual));
        let (Some(encoded), Some(actual)) = (encoded.first(), actual.first()) else {
            continue;
        };
        if *encoded == (indent, is_dash) {
            return Some(actual.0);
        }
        if encoded.0 <= indent {
            return None;
        }
    }
    None
}

/// The columns where something starts on a line: dashes, and what follows them. Nothing for comments and blank lines.
fn starts(line: &str) -> Vec<(usize, bool)> {
    let mut starts = Vec::new();
    let mut rest = line;
    loop {
        let content = rest.trim_start_matches(' ');
        let column = line.len() - content.len();
        match content.trim_end() {
            "" => return starts,
            comment if comment.starts_with('#') => return starts,
            dash if dash == "-" || dash.starts_with("- ") => {
                starts.push((column, true));
                rest = content.get(1..).unwrap_or_default();
            }
            _ => {
                starts.push((column, false));
                return starts;
            }
        }
    }
}
