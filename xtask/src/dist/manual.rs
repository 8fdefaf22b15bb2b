//! Man pages of programs that have only `--help`.

/// A page of section 1. `help` is what the program prints with `--help`.
pub(super) fn manual_page(program: &str, summary: &str, help: &str) -> String {
    let title = program.to_uppercase();
    format!(
        ".TH {} 1\n.SH NAME\n{} \\- {}\n.SH SYNOPSIS\n.B {}\n[flags]\n.SH DESCRIPTION\n.nf\n{}.fi\n",
        escaped(&title),
        escaped(program),
        escaped(summary),
        escaped(program),
        lines(help),
    )
}

/// Lines of text; a leading dot or quote would be a request of roff.
fn lines(text: &str) -> String {
    let line = |line: &str| match line.starts_with(['.', '\'']) {
        true => format!("\\&{}\n", escaped(line)),
        false => format!("{}\n", escaped(line)),
    };
    text.lines().map(line).collect()
}

/// A minus that can be copied, and no escapes.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\e").replace('-', "\\-")
}
