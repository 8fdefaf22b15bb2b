//! Command lines in reports, without what may be secret.

use kiln_krm::secrets::MASKED;

/// The words of a command. The values of `--env` and of the arguments of a function, after `--`, are masked: both are where
/// users pass passwords.
pub(super) fn mask_arguments(words: &[String]) -> Vec<String> {
    let mut masked = Vec::with_capacity(words.len());
    let mut is_argument = false;
    let mut is_variable = false;
    for word in words {
        masked.push(match word.as_str() {
            word if is_argument || is_variable => without_value(word),
            word if word.starts_with("--env=") => match word.split_once('=') {
                Some((flag, variable)) => format!("{flag}={}", without_value(variable)),
                None => word.to_owned(),
            },
            word if is_short_variable(word) => without_value(word),
            word => word.to_owned(),
        });
        is_variable = !is_argument && matches!(word.as_str(), "--env" | "-e");
        is_argument |= word == "--";
    }
    masked
}

/// `-eNAME=VALUE`
fn is_short_variable(word: &str) -> bool {
    word.starts_with("-e") && !word.starts_with("--")
}

/// `NAME=(secret)`; a word without a value stays.
fn without_value(word: &str) -> String {
    match word.split_once('=') {
        Some((name, _)) => format!("{name}={MASKED}"),
        None => word.to_owned(),
    }
}

/// The words as a shell reads them.
pub(super) fn command_line(words: &[String]) -> String {
    let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
    words.join(" ")
}

/// A word as a shell reads it, in quotes if it needs them.
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@%+~".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}
