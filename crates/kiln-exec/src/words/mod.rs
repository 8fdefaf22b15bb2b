//! Splits a command line into words, by the rules of Go's shlex: a shell's quotes, and nothing else of a shell.

/// Why a command line cannot be split.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SplitError {
    /// The command line ends with a backslash.
    #[error("EOF found after escape character")]
    OpenEscape,
    /// The command line ends within quotes.
    #[error("EOF found when expecting closing quote")]
    OpenQuote,
}

/// The words of a command line. Single quotes keep everything; in double quotes a backslash is removed and the
/// character after it is kept, whatever it is. A word that begins with `#` begins a comment.
pub fn split(command_line: &str) -> Result<Vec<String>, SplitError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command_line.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' | '\r' | '\n' => words.extend(word.take()),
            '#' if word.is_none() => {
                chars.by_ref().find(|c| *c == '\n');
            }
            '\'' => {
                let word = word.get_or_insert_default();
                single_quoted(&mut chars, word)?;
            }
            '"' => {
                let word = word.get_or_insert_default();
                double_quoted(&mut chars, word)?;
            }
            '\\' => {
                let escaped = chars.next().ok_or(SplitError::OpenEscape)?;
                word.get_or_insert_default().push(escaped);
            }
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Ok(words)
}

fn single_quoted(
    chars: &mut impl Iterator<Item = char>,
    word: &mut String,
) -> Result<(), SplitError> {
    loop {
        match chars.next().ok_or(SplitError::OpenQuote)? {
            '\'' => return Ok(()),
            c => word.push(c),
        }
    }
}

fn double_quoted(
    chars: &mut impl Iterator<Item = char>,
    word: &mut String,
) -> Result<(), SplitError> {
    loop {
        match chars.next().ok_or(SplitError::OpenQuote)? {
            '"' => return Ok(()),
            '\\' => word.push(chars.next().ok_or(SplitError::OpenEscape)?),
            c => word.push(c),
        }
    }
}

#[cfg(test)]
mod tests;
