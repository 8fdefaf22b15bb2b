//! Programs that would not end, or would use all memory, end with a clear failure.
//!
//! A test ends because the limits are small. The test runner detects a hang.

use std::cell::Cell;

use kiln_starlark::{Dialect, Host, Limits, Program, Usage, modules};

const LIMITS: Limits = Limits {
    steps: 8_000_000,
    bytes: 64_000_000,
};

fn run(source: &str) -> String {
    run_within(&LIMITS, source)
}

fn run_within(limits: &Limits, source: &str) -> String {
    let program = Program::parse("p", source.as_bytes(), &Dialect::extended(), &|_| false);
    let program = match program {
        Ok(program) => program,
        Err(error) => return error.to_string(),
    };
    let usage = Usage::new(limits, &|| None);
    let mut host = Host {
        usage: &usage,
        print: &mut |_| {},
        load: &mut |module| Ok(modules::find(module).unwrap_or_default()),
    };
    match program.run(&[], &mut host) {
        Ok(_) => "no failure".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[track_caller]
fn check(source: &str, message: &str) {
    let got = run(source);
    assert!(
        got.contains(message),
        "{source}\n{:?} instead of {message:?}",
        got.get(..got.floor_char_boundary(300))
    );
}

const STEPS: &str = "Starlark computation cancelled: too many steps";
const MEMORY: &str = "starlark: the script needs more than 64 MB of memory";

/// Fails if a program exceeds neither the limit on steps nor the one on memory.
#[track_caller]
fn check_bounded(source: &str) {
    let got = run(source);
    let is_bounded = got.contains(STEPS) || got.contains(MEMORY);
    let shown = got.get(..got.floor_char_boundary(300));
    assert!(is_bounded, "{source}\n{shown:?}");
}

#[test]
fn loops_end() {
    check("while True: pass", STEPS);
    check(
        "for i in range(1000000000):\n  for j in range(1000000000): pass",
        STEPS,
    );
    check_bounded("[x for x in range(1000000000000)]");
    check("all(range(1, 1000000000000))", STEPS);
    check_bounded("max(range(1000000000000))");
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
    check_bounded("x = []\nwhile True: x.append(1)");
    check_bounded("x = list(range(10000000000))");
    check_bounded("x = sorted(range(10000000000))");
    check("x = [1]\nwhile True: x += x", MEMORY);
    check_bounded("x = {}\nfor i in range(100000000): x[i] = i");
    check("x = 'a,' * 10000000\ny = x.split(',')", MEMORY);
    check("x = 'a' * 1000000\ny = x.replace('a', x)", MEMORY);
    check_bounded("x = zip(range(100000000), range(100000000))");
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
    // Building, printing, hashing, comparing and dropping must not use the stack.
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

/// The syntax tree of a pattern is much larger than the pattern.
#[test]
fn long_patterns_are_refused() {
    check("load('re.star', 're')\nre.compile('a' * 1000000)", MEMORY);
}

/// A search keeps the positions of all groups for every state.
#[test]
fn patterns_with_many_groups_are_refused() {
    let search =
        |groups: usize| format!("load('re.star', 're')\nre.match('(a?)' * {groups}, 'ab' * 500)");
    let default = Limits::default();
    let refused = run_within(&default, &search(20_000));
    assert!(
        refused.contains("needs more than 268 MB of memory"),
        "{refused}"
    );
    check(&search(2_000), MEMORY);
    check(&search(100), "no failure");
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
        deep("[x for x in ", "]"),
        deep("{1: x for x in ", "}"),
        deep("[1 for x in [] if ", "]"),
        deep("[x for ", " in []]"),
        deep("f(a=", ")"),
        deep("a[1:", "]"),
        deep("1 if 1 else ", ""),
        deep("lambda a=", ": 0"),
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
    let params: String = (0..70_000).map(|at| format!("a{at}=1,")).collect();
    check(
        &format!("def f({params}): pass"),
        "too many parameters (limit is 65535)",
    );
    // Left-leaning chains may have any length.
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
    let tuple = shared("(", ",)");
    for source in [
        "while True: pass",
        "x = sorted(range(100000000))",
        &format!("{tuple}x = str(a)"),
        &format!("{tuple}x = {{a: 1}}"),
        &format!("{tuple}x = a in {{1: 1}}\nwhile True: pass"),
    ] {
        let program = Program::parse("p", source.as_bytes(), &Dialect::extended(), &|_| false);
        let program = program.expect("the program parses");
        let calls = Cell::new(0);
        let interrupt = || {
            calls.set(calls.get() + 1);
            (calls.get() == 3).then(|| "time is up".to_owned())
        };
        let usage = Usage::new(&Limits::default(), &interrupt);
        let mut host = Host {
            usage: &usage,
            print: &mut |_| {},
            load: &mut |_| Ok(Vec::new()),
        };
        let error = program.run(&[], &mut host).err();
        assert_eq!(
            error.map(|error| error.to_string()).as_deref(),
            Some("Starlark computation cancelled: time is up"),
            "{source}"
        );
    }
}

/// A value of 10^13 nodes that needs little memory, because its parts are shared.
fn shared(open: &str, close: &str) -> String {
    let more = format!("a = {open}a, a, a, a, a, a, a, a, a, a{close}\n").repeat(12);
    format!("a = {open}'lol'{close} * 10\n{more}")
}

#[test]
fn values_that_share_parts_are_counted_as_often_as_they_are_looked_at() {
    let (list, tuple) = (shared("[", "]"), shared("(", ",)"));
    let load = "load('encoding/json.star', 'json')\nload('encoding/csv.star', 'csv')\n";
    for (value, expression) in [
        (&list, "str(a)"),
        (&list, "repr(a)"),
        (&list, "'%s' % (a,)"),
        (&list, "'%r' % (a,)"),
        (&list, "'{}'.format(a)"),
        (&list, "print(a)"),
        (&list, "fail(a)"),
        (&list, "json.encode(a)"),
        (&list, "json.encode_indent(a)"),
        (&list, "csv.write_all([[a]])"),
        (&list, "{'x': 1}[str(a)]"),
        (&tuple, "{a: 1}"),
        (&tuple, "{}[a]"),
        (&tuple, "a in {'x': 1}"),
        (&tuple, "a in {}"),
        (&tuple, "set([a])"),
        (&tuple, "dict([(a, 1)])"),
        (&tuple, "{1: 2}.get(a)"),
    ] {
        check_bounded(&format!("{load}{value}x = {expression}"));
    }
    // Ten levels are compared; these have ten million leaves.
    let small = |name: &str| {
        format!(
            "{name} = ['lol'] * 10\n{}",
            format!("{name} = [{name}] * 10\n").repeat(6)
        )
    };
    for expression in [
        "a == b",
        "a != b",
        "a < b",
        "b in [a, a]",
        "[a].index(b)",
        "[a].remove(b)",
        "sorted([a, b])",
        "max(a, b)",
        "{'k': a} == {'k': b}",
        "(a, 1) in [(b, 2)]",
    ] {
        let source = format!("{}{}x = {expression}", small("a"), small("b"));
        let got = run(&source);
        assert!(got.ends_with(STEPS), "{expression}: {got}");
    }
}

#[test]
fn depth_does_not_cost_more_than_size() {
    // Each of these takes time proportional to the depth, not to its square, and no stack.
    let limits = Limits {
        steps: 12_000_000,
        bytes: 256_000_000,
    };
    let load = "load('encoding/json.star', 'json')\n";
    for nest in ["[x]", "(x,)", "{'a': x}"] {
        for expression in [
            "str(x)",
            "repr(x)",
            "json.encode(x)",
            "json.decode(json.encode(x))",
        ] {
            let source =
                format!("{load}x = 1\nfor i in range(200000): x = {nest}\ny = {expression}");
            assert_eq!(
                run_within(&limits, &source),
                "no failure",
                "{nest} {expression}"
            );
        }
        let source =
            format!("{load}x = len\nfor i in range(200000): x = {nest}\ny = json.encode(x)");
        let got = run_within(&limits, &source);
        assert!(
            got.contains("cannot encode builtin_function_or_method as JSON"),
            "{nest}"
        );
        assert!(got.len() < 100_000, "{nest}");
    }
}

#[test]
fn text_is_bounded() {
    let load = "load('encoding/json.star', 'json')\nload('encoding/csv.star', 'csv')\n\
                load('encoding/base64.star', 'base64')\nload('re.star', 're')\n";
    for source in [
        "for i in range(1 << 40): print('lol' * 1000)",
        "for i in range(1 << 40): print()",
        "v = 'x' * 10000000\nx = ''.join([v] * 60)",
        "v = 'x' * 10000000\nx = v.join(['a'] * 60)",
        "v = 'x' * 10000000\nx = ('%s' * 60) % tuple([v] * 60)",
        "v = 'x' * 10000000\nx = ('{0}' * 60).format(v)",
        "v = 'x' * 10000000\nx = str([v] * 60)",
        "v = 'x' * 10000000\nx = json.encode([v] * 60)",
        "v = 'x' * 10000000\nprint(*([v] * 60))",
        "v = 'x' * 10000000\nfail(*([v] * 60))",
        "v = 'x' * 10000000\nfail(v, v, v, v, v, v, v, v)",
        "fail('v' * 500000000)",
        "x = json.indent('[' * 9000 + ']' * 9000, indent = 'x' * 10000)",
        "x = json.encode_indent([[[[]]]], prefix = 'x' * 30000000)",
        "x = ('a,' * 5000000).split(',')",
        "x = ('a ' * 5000000).split()",
        "x = ('a ' * 5000000).rsplit(None, 100000000)",
        "x = ('a\\n' * 5000000).splitlines()",
        "x = csv.read_all('a,' * 5000000)",
        "x = json.decode('[' + '1,' * 5000000 + '1]')",
        "x = json.decode('[' * 5000000)",
        "x = base64.encode('x' * 30000000)",
        "x = re.sub('a', 'x' * 1000000, 'a' * 1000)",
        "x = re.findall('', 'a' * 10000000)",
        "x = list(('a' * 10000000).elems())",
        "x = ('a' * 10000000).replace('', 'ab')",
        "x = [s.upper() for s in ['x' * 1000000] * 100]",
        "x = bytes([0] * 1000000) * 100",
        "d = {str(i): 0 for i in range(100)}\ndef f(**k): return k\nx = [f(**d) for i in range(100000)]",
        "def f(*a): return a\nx = f(*range(1 << 40))",
        "x = max(*range(1 << 40))",
        "x = dict([(i, i) for i in range(100000000)])",
        "x = {i: i for i in range(100000000)}",
        "x = set(range(100000000))",
        "x = set()\nfor i in range(100000000): x.add(i)",
        "x = list(enumerate(range(100000000)))",
        "x = {}\nfor i in range(100000): x |= {i: list(range(100))}",
        "s = set(range(10000))\nx = [s | s for i in range(10000)]",
        "d = {i: i for i in range(10000)}\nx = [d | d for i in range(10000)]",
        "d = {i: i for i in range(10000)}\nx = [d.items() for i in range(10000)]",
        "x = ['a' + str(i) for i in range(100000000)]",
        "x = [lambda: i for i in range(100000000)]",
        "x = [[].append for i in range(100000000)]",
        "x = ['x'.elems() for i in range(100000000)]",
        "x = [range(i) for i in range(100000000)]",
        "x = [re.compile('a' + str(i)) for i in range(100000)]",
        "x = []\nwhile True: x.append(re.compile('(a{30}){30}'))",
    ] {
        check_bounded(&format!("{load}{source}"));
    }
}

#[test]
fn integers_are_counted() {
    let huge = "x = 3\nfor i in range(16): x = x * x\n";
    for source in [
        "l = [-x for i in range(100000)]",
        "l = [~x for i in range(100000)]",
        "l = [x + i for i in range(100000)]",
        "l = [x - i for i in range(100000)]",
        "l = [x ^ i for i in range(100000)]",
        "l = [x >> 1 for i in range(100000)]",
        "l = [abs(-x) for i in range(100000)]",
        "l = [x // 3 for i in range(100000)]",
        "for i in range(100000): y = str(x)",
        "for i in range(100000): y = '%d' % x",
        "for i in range(100000): y = x % 7",
        "for i in range(100000): y = float(x // (x // 9)) if i else x // 7",
        "t = '9' * 60000\nfor i in range(100000): y = int(t)",
    ] {
        check_bounded(&format!("{huge}{source}"));
    }
    let load = "load('encoding/json.star', 'json')\n";
    check("x = int('9' * 1000000)", "invalid literal with base 10");
    check(
        &format!("{load}x = json.decode('9' * 1000000)"),
        "int too large: 1000000 digits",
    );
    check(
        &format!("x = {}", "9".repeat(1_000_000)),
        "invalid int literal",
    );
    let limits = Limits {
        steps: 200_000_000,
        ..LIMITS
    };
    let got = run_within(&limits, "x = 3\nwhile True: x = x + x");
    assert!(got.contains("int too large"), "{got}");
}

#[test]
fn garbage_does_not_count() {
    // Much more than the limit is allocated in total, but little at a time.
    let limits = Limits {
        steps: 1_000_000_000,
        bytes: 20_000_000,
    };
    for source in [
        "for i in range(1000): x = 'x' * 1000000",
        "x = ''\nfor i in range(20000): x += 'y'",
        "def f(n): return list(range(n))\nfor i in range(3000): x = f(10000)",
        "def f(x): return x\nfor i in range(1000000): f(i)",
        "keep = list(range(100000))\nfor i in range(3000): x = sorted(range(1000))",
        "x = {}\nfor i in range(300000): x = {'a': [i, {'b': i}]}",
        "x = []\nfor i in range(300000): x = [[]]\nfor i in range(300000):\n  x = []\n  x.append([])",
    ] {
        assert_eq!(run_within(&limits, source), "no failure", "{source}");
    }
    // Cycles are not freed before the end.
    let got = run_within(
        &limits,
        "for i in range(10000000):\n  x = []\n  x.append(x)",
    );
    assert!(got.contains("needs more than 20 MB of memory"), "{got}");
}

#[test]
fn messages_are_bounded() {
    let limits = Limits {
        steps: 100_000_000,
        bytes: 256_000_000,
    };
    for source in [
        "fail('v' * 50000000)",
        "{}['v' * 50000000]",
        "getattr(1, 'v' * 50000000)",
        "'{%s}'.format(1) .format() + ('{' + 'v' * 50000000 + '}').format()",
        "int('v' * 20000000)",
        "float('v' * 20000000)",
        "('%(' + 'v' * 20000000 + ')s') % {}",
    ] {
        let got = run_within(&limits, source);
        assert!(got.len() < 2_000_000, "{source}: {}", got.len());
        assert!(
            got.contains("v more bytes") || got.ends_with("more bytes)") || got.len() < 200,
            "{source}"
        );
    }
    // A message that fits is complete.
    let got = run_within(&limits, "fail('v' * 500000)");
    assert_eq!(got.len(), "fail: ".len() + 500_000);
    let name = "f".repeat(10_000);
    let program = format!("def {name}(): return {name}()\n{name}()");
    let program = Program::parse("p", program.as_bytes(), &Dialect::extended(), &|_| false);
    let program = program.expect("the program parses");
    let usage = Usage::new(&limits, &|| None);
    let mut host = Host {
        usage: &usage,
        print: &mut |_| {},
        load: &mut |_| Ok(Vec::new()),
    };
    let error = program
        .run(&[], &mut host)
        .err()
        .expect("it calls itself for ever");
    assert_eq!(error.frames.len(), 100_001);
    assert!(error.backtrace().len() < 20_000_000);
}

#[test]
fn a_failure_that_is_dropped_does_not_let_a_run_go_on() {
    // `in` and a default drop failures of their operands.
    let tuple = shared("(", ",)");
    for source in [
        "while a in {'x': 1}: pass\nwhile True: pass",
        "x = a in {1: 1}\ny = a in {1: 1}",
    ] {
        assert_eq!(run(&format!("{tuple}{source}")), STEPS);
    }
    let load = "load('encoding/json.star', 'json')\n";
    check(
        &format!("{load}while True: x = json.decode('[' * 1000000, 1)"),
        "",
    );
    check_bounded(&format!(
        "{load}x = [json.decode('[' + '1,' * 10000000, 1)]"
    ));
}

/// A table of keys with equal hashes would take a comparison for each pair.
#[test]
fn numbers_of_any_size_are_good_keys() {
    for key in ["float(i) * 1e200", "i * 0.00001", "i << 64", "-i << 300"] {
        let source = format!("d = {{}}\nfor i in range(20000): d[{key}] = i");
        assert_eq!(run(&source), "no failure", "{key}");
    }
}
