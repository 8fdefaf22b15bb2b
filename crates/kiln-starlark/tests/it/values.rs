//! How a host uses values.

use kiln_starlark::{Dialect, Dict, Host, Limits, Program, Usage, Value, ValueKind};

#[test]
fn a_program_changes_what_the_host_gave_it() {
    let dict = Dict::with_capacity(1);
    dict.set_str("a", Value::from(1));
    let value = Value::from(dict);
    let source = "x['b'] = [x['a'] + 1]\nx['a'] = {'c': True}\ny = x";
    let program = Program::parse("p", source.as_bytes(), &Dialect::extended(), &|name| {
        name == "x"
    });
    let program = program.expect("the program parses");
    let usage = Usage::new(&Limits::default(), &|| None);
    let mut host = Host {
        usage: &usage,
        print: &mut |_| {},
        load: &mut |_| Ok(Vec::new()),
    };
    let run = program
        .run(&[("x", value.clone())], &mut host)
        .expect("the program runs");
    let shown = String::from_utf8(value.repr(&usage).expect("it is short"));
    assert_eq!(shown.as_deref(), Ok(r#"{"a": {"c": True}, "b": [2]}"#));
    let global = run.global("y").expect("y is a global");
    assert!(matches!(global.kind(), ValueKind::Dict(dict) if dict.len() == 2));
}

#[test]
fn cycles_are_taken_apart_with_the_run() {
    for source in [
        "x.append(x)\nx.append({'x': x})\ndef f():\n  def g(): return g\n  x.append(g)\nf()",
        // Functions and methods can be keys and elements of sets, and hold their containers.
        "d = {}\ndef f(d=d, x=x): pass\nd[f] = 1",
        "d = {}\ndef f(d=d, x=x): pass\nd.setdefault((1, f), 1)",
        "d = {}\ndef f(d=d, x=x): pass\nd.update([(f, 1)])",
        "d = {'x': x}\nd[d.get] = 1",
        "s = set()\ndef f(s=s, x=x): pass\ns.add(f)",
        "s = set()\ndef f(s=s, x=x): pass\ns.update([f])",
        "s = set()\ndef f(s=s, x=x): pass\nx.append(s)\nx.extend([x.append])",
    ] {
        check_cycles(source);
    }
}

#[track_caller]
fn check_cycles(source: &str) {
    let list = Value::list(Vec::new());
    let ValueKind::List(shared) = list.kind() else {
        panic!("a list is a list");
    };
    let weak = std::rc::Rc::downgrade(shared);
    let program = Program::parse("p", source.as_bytes(), &Dialect::extended(), &|name| {
        name == "x"
    });
    let program = program.expect("the program parses");
    let usage = Usage::new(&Limits::default(), &|| None);
    let mut host = Host {
        usage: &usage,
        print: &mut |_| {},
        load: &mut |_| Ok(Vec::new()),
    };
    let run = program
        .run(&[("x", list.clone())], &mut host)
        .expect("the program runs");
    drop(list);
    assert!(weak.upgrade().is_some(), "{source}");
    drop(run);
    assert!(weak.upgrade().is_none(), "{source}");
}
