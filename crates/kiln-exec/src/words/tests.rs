//! Splitting, compared with Go's shlex.

use super::*;

#[track_caller]
fn check(command_line: &str, expected: &[&str]) {
    assert_eq!(split(command_line).unwrap(), expected, "{command_line}");
}

#[test]
fn words_are_separated_by_blanks() {
    check("", &[]);
    check(" \t\r\n", &[]);
    check("cat", &["cat"]);
    check("  sed  -e\ts/a/b/\n", &["sed", "-e", "s/a/b/"]);
}

#[test]
fn quotes_keep_words_together() {
    check("sed -e 's/a b/c/'", &["sed", "-e", "s/a b/c/"]);
    check(r#"a"b c"d'e f'"#, &["ab cde f"]);
    check(r#""" ''"#, &["", ""]);
    check(r"'a\b'", &[r"a\b"]);
    check(r#""a\"b\nc""#, &[r#"a"bnc"#]);
    check(r"a\ b \#c \\", &["a b", "#c", r"\"]);
}

#[test]
fn nothing_else_is_special() {
    check(
        "echo $HOME `x` *.yaml a|b >c; d & {e,f} ~",
        &[
            "echo", "$HOME", "`x`", "*.yaml", "a|b", ">c;", "d", "&", "{e,f}", "~",
        ],
    );
}

#[test]
fn comments_begin_words() {
    check("a # b c\nd", &["a", "d"]);
    check("a#b #", &["a#b"]);
}

#[test]
fn open_ends_are_errors() {
    for open in ["cat \"unclosed", "'", "\"a'"] {
        assert_eq!(split(open), Err(SplitError::OpenQuote), "{open}");
    }
    for open in ["a\\", "\"a\\"] {
        assert_eq!(split(open), Err(SplitError::OpenEscape), "{open}");
    }
}
