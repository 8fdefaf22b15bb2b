//! Errors in one line, as Go programs print them.

use std::error::Error;
use std::io;

/// An error of the operating system in the words of Go's `syscall.Errno`: lower case, no number.
pub fn errno_text(error: &io::Error) -> String {
    let text = error.to_string();
    let text = match text.rfind(" (os error ") {
        Some(end) => text.get(..end).unwrap_or(&text),
        None => &text,
    };
    // Go's table keeps the case of abbreviations: "RFS specific error".
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some('a'..='z')) => first.to_lowercase().chain(chars).collect(),
        _ => text.to_owned(),
    }
}

/// The error and its causes, separated by colons. A cause that the text before it ends with is not repeated: some errors
/// print their cause and return it as their source too.
pub fn error_chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::fmt;
    use std::io;

    use super::{errno_text, error_chain};

    #[derive(Debug)]
    struct Layer(&'static str, Option<Box<Layer>>);

    impl fmt::Display for Layer {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.0)
        }
    }

    impl Error for Layer {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[track_caller]
    fn check_chain(texts: &[&'static str], wanted: &str) {
        let mut error = None;
        for text in texts.iter().rev() {
            error = Some(Box::new(Layer(text, error)));
        }
        let error = error.expect("at least one text");
        assert_eq!(error_chain(&*error), wanted);
    }

    #[test]
    fn causes_follow_once() {
        check_chain(&["a"], "a");
        check_chain(&["a", "b", "c"], "a: b: c");
        check_chain(&["a: b", "b", "c"], "a: b: c");
        check_chain(&["a: b: c", "b: c", "c"], "a: b: c");
        check_chain(&["b of a", "b"], "b of a: b");
    }

    #[test]
    fn errors_of_the_system_have_words_of_go() {
        let not_found = io::Error::from_raw_os_error(2);
        assert_eq!(errno_text(&not_found), "no such file or directory");
        let broken = io::Error::from(io::ErrorKind::BrokenPipe);
        assert_eq!(errno_text(&broken), "broken pipe");
        assert_eq!(errno_text(&io::Error::other("RFS error")), "RFS error");
    }
}
