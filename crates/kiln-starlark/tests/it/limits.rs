//! Programs that would go on for ever, or use up everything, end with a clear failure.

use kiln_starlark::{Dialect, Limits, Program, World};

fn run(source: &str) -> String {
    let program = Program::parse("p", source.as_bytes(), &Dialect::extended(), &|_| false);
    let program = program.expect("the program parses");
    let mut world = World {
        limits: Limits {
            steps: 3_000_000,
            bytes: 64 << 20,
        },
        print: &mut |_| {},
        load: &mut |_| Ok(Vec::new()),
        interrupt: &mut || None,
    };
    match program.run(&[], &mut world) {
        Ok(_) => "no failure".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check(source: &str, message: &str) {
    let got = run(source);
    assert!(got.contains(message), "{got:?} instead of {message:?}");
}

const STEPS: &str = "Starlark computation cancelled: too many steps";
const MEMORY: &str = "Starlark computation cancelled: too much memory (limit is 67108864 bytes)";

#[test]
fn loops_end() {
    check("while True: pass", STEPS);
    check(
        "for i in range(1000000000):\n  for j in range(1000000000): pass",
        STEPS,
    );
    check("[x for x in range(1000000000000)]", "cancelled");
    check("all(range(1, 1000000000000))", STEPS);
    check("max(range(1000000000000))", "cancelled");
    check(
        "def f():\n  for x in range(10000000000): yield_ = x\nf()",
        STEPS,
    );
}

#[test]
fn memory_is_bounded() {
    check("x = 'ab' * 100000000", MEMORY);
    check("x = [0] * 100000000", MEMORY);
    check(
        "x = 'x' * 1000000000000",
        "repeat count 1000000000000 too large",
    );
    check("x = 'ab'\nwhile True: x = x + x", MEMORY);
    check("x = []\nwhile True: x.append(1)", "cancelled");
    check("x = list(range(10000000000))", "cancelled");
    check("x = sorted(range(10000000000))", "cancelled");
    check("x = [1]\nwhile True: x += x", MEMORY);
    check("x = {}\nfor i in range(100000000): x[i] = i", "cancelled");
    check("x = 'a,' * 10000000\ny = x.split(',')", MEMORY);
    check("x = 'a' * 1000000\ny = x.replace('a', x)", MEMORY);
    check("x = zip(range(100000000), range(100000000))", "cancelled");
}

#[test]
fn integers_are_bounded() {
    check("x = 3\nwhile True: x = x * x", "int too large");
    check("x = 1\nwhile True: x = x << 511", "int too large");
}

#[test]
fn calls_are_bounded() {
    check("def f(): return f()\nf()", "Starlark stack overflow");
    check(
        "def f(x): return sorted([1], key = f)\nf(1)",
        "Starlark stack overflow",
    );
}

#[test]
fn depth_of_values_is_no_matter() {
    // Making, printing, hashing, comparing and dropping must not use the stack.
    let nest = "x = ()\nfor i in range(200000): x = (x,)\n";
    check(&format!("{nest}{{x: 1}}"), "no failure");
    check(&format!("{nest}len(str(x))"), "no failure");
    check(
        &format!("{nest}x == (x,)"),
        "comparison exceeded maximum recursion depth",
    );
    check("x = []\nfor i in range(200000): x = [x]", "no failure");
    check("x = {}\nfor i in range(200000): x = {'a': x}", "no failure");
    check(
        "def f(g): return lambda: g\nx = None\nfor i in range(200000): x = f(x)",
        "no failure",
    );
}

#[test]
fn depth_of_programs_is_bounded() {
    let deep =
        |open: &str, close: &str| format!("x = {}1{}", open.repeat(100_000), close.repeat(100_000));
    for source in [
        deep("(", ")"),
        deep("[", "]"),
        deep("-", ""),
        deep("not ", ""),
        deep("lambda: ", ""),
    ] {
        let parsed = Program::parse("p", source.as_bytes(), &Dialect::extended(), &|_| false);
        let error = parsed
            .err()
            .map(|error| error.to_string())
            .unwrap_or_default();
        assert!(
            error.contains("nested too deeply (limit is 200)"),
            "{error}"
        );
    }
    // What only leans to the left may be as long as it likes.
    check(&format!("x = 1{}", " + 1".repeat(100_000)), "no failure");
    check(
        &format!("x = ''{}", ".strip()".repeat(100_000)),
        "no failure",
    );
    let branches = "elif False: pass\n".repeat(20_000);
    check(&format!("if False: pass\n{branches}"), "no failure");
}

#[test]
fn the_host_can_stop_a_run() {
    let program = Program::parse("p", b"while True: pass", &Dialect::extended(), &|_| false);
    let program = program.expect("the program parses");
    let mut asked = 0;
    let mut interrupt = || {
        asked += 1;
        (asked == 3).then(|| "time is up".to_owned())
    };
    let mut world = World {
        limits: Limits::default(),
        print: &mut |_| {},
        load: &mut |_| Ok(Vec::new()),
        interrupt: &mut interrupt,
    };
    let error = program
        .run(&[], &mut world)
        .err()
        .map(|error| error.to_string());
    assert_eq!(
        error.as_deref(),
        Some("Starlark computation cancelled: time is up")
    );
}
