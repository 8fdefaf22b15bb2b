//! Every program under `tests/recorded` prints and fails as in go.starlark.net, in the usual dialect and in the
//! strict one. The outputs were recorded with go.starlark.net of 2025-04-17 and starlib v0.5.0.

use std::fs;
use std::path::Path;

use kiln_starlark::{
    Arguments, Builtin, Context, Dialect, Failure, Host, Limits, Program, Struct, Usage, Value,
    ValueKind, modules,
};

#[test]
fn programs_do_what_they_do_in_the_original() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/recorded");
    let mut failures = Vec::new();
    let mut count = 0;
    for entry in fs::read_dir(directory).expect("the recorded programs are there") {
        let path = entry.expect("a directory can be read to its end").path();
        if path.extension().is_none_or(|extension| extension != "star") {
            continue;
        }
        let source = fs::read_to_string(&path).expect("a program is text");
        let answers = fs::read_to_string(path.with_extension("json"));
        let answers = answers.expect("a program has its answers beside it");
        let answers: Vec<serde_json::Value> =
            serde_json::from_str(&answers).expect("the answers are JSON");
        let programs = source.split("\n---\n").zip(&answers);
        for (i, (program, answers)) in programs.enumerate() {
            for strict in [false, true] {
                count += 1;
                let wanted = &answers[if strict { "strict" } else { "extended" }];
                let got = run(
                    &path.file_stem().unwrap_or_default().to_string_lossy(),
                    program,
                    strict,
                );
                if got != *wanted {
                    failures.push(format!(
                        "{} #{i} strict={strict}\nwanted {wanted:#}\ngot    {got:#}",
                        path.display()
                    ));
                }
            }
        }
        assert_eq!(
            answers.len(),
            source.split("\n---\n").count(),
            "{}",
            path.display()
        );
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
    assert!(count > 300, "only {count} programs");
}

fn run(name: &str, source: &str, strict: bool) -> serde_json::Value {
    let dialect = Dialect {
        sets: true,
        ..if strict {
            Dialect::standard()
        } else {
            Dialect::extended()
        }
    };
    let mut lines: Vec<String> = Vec::new();
    let mut error = String::new();
    let mut backtrace = String::new();
    let names = ["catch", "ctx", "struct"];
    match Program::parse(name, source.as_bytes(), &dialect, &|name| {
        names.contains(&name)
    }) {
        Err(syntax) => error = syntax.to_string(),
        Ok(program) => {
            let mut print = |line: &[u8]| lines.push(String::from_utf8_lossy(line).into_owned());
            let mut load = |module: &str| Ok(modules::find(module).unwrap_or_default());
            let usage = Usage::new(&Limits::default(), &|| None);
            let mut host = Host {
                usage: &usage,
                print: &mut print,
                load: &mut load,
            };
            let predeclared = [
                (
                    "ctx",
                    Value::from(Struct::new(vec![("a".to_owned(), Value::from(1))])),
                ),
                ("struct", Value::from(Builtin::new("struct", make_struct))),
                ("catch", Value::from(Builtin::new("catch", catch))),
            ];
            if let Err(failure) = program.run(&predeclared, &mut host) {
                error = failure.to_string();
                backtrace = failure.backtrace();
            }
        }
    }
    serde_json::json!({"print": lines, "error": error, "backtrace": backtrace})
}

/// Calls a function and returns its failure.
fn catch(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let function = args.get(0).cloned().unwrap_or(Value::NONE);
    Ok(match ctx.call(&function, &[]) {
        Ok(_) => Value::NONE,
        Err(failure) => Value::string(failure.message()),
    })
}

fn make_struct(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    let field = |(name, value): (&Value, &Value)| match name.kind() {
        ValueKind::String(name) => (String::from_utf8_lossy(name).into_owned(), value.clone()),
        _ => (String::new(), value.clone()),
    };
    Ok(Value::from(Struct::new(args.named().map(field).collect())))
}
