//! The syntax of regular expressions. The results are those of Go's `regexp`.

use kiln_starlark::{Dialect, Host, Limits, Program, Usage, Value, modules};

/// Runs a call of the module `re`, and returns its value or error.
fn run(call: &str) -> String {
    let source = format!("load('re.star', 're')\nx = re.{call}");
    let program = Program::parse("p", source.as_bytes(), &Dialect::extended(), &|_| false);
    let program = program.expect("the program parses");
    let usage = Usage::new(&Limits::default(), &|| None);
    let mut host = Host {
        usage: &usage,
        print: &mut |_| {},
        load: &mut |module| Ok(modules::find(module).unwrap_or_default()),
    };
    match program.run(&[], &mut host) {
        Ok(run) => {
            let value = run.global("x").cloned().unwrap_or(Value::NONE);
            let shown = value.repr(&usage).expect("it is short");
            String::from_utf8_lossy(&shown).into_owned()
        }
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn expressions_have_the_syntax_of_go() {
    for (call, expect) in [
        (r"findall('\\w+', 'aéb')", r#"("a", "b")"#),
        (r"findall('\\d+', '1٣2')", r#"("1", "2")"#),
        (r"findall('\\Qa.b\\E', 'aXba.b')", r#"("a.b",)"#),
        ("findall('[a&&b]+', 'c&ab')", r#"("&ab",)"#),
        ("findall('a{,2}', 'aa{,2}')", r#"("a{,2}",)"#),
        ("sub('(?P<x>a)|(?P<x>b)', '<$x>', 'ab')", r#""<a><b>""#),
        ("sub('(a)', '$01-${1}', 'a')", r#""-a""#),
        (
            "compile('a{1001}')",
            "error parsing regexp: invalid repeat count: `{1001}`",
        ),
        (
            "compile('[+--a]|[b-a]')",
            "error parsing regexp: invalid character class range: `b-a`",
        ),
        (
            r"compile('\\8')",
            r"error parsing regexp: invalid escape sequence: `\8`",
        ),
    ] {
        assert_eq!(run(call), expect, "{call}");
    }
}
