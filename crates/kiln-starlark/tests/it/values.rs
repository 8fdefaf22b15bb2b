//! What a host does with values.

use kiln_starlark::{Dialect, Dict, Kind, Limits, Program, Value, World};

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
    let mut world = World {
        limits: Limits::default(),
        print: &mut |_| {},
        load: &mut |_| Ok(Vec::new()),
        interrupt: &mut || None,
    };
    let run = program
        .run(&[("x", value.clone())], &mut world)
        .expect("the program runs");
    let shown = String::from_utf8(value.repr());
    assert_eq!(shown.as_deref(), Ok(r#"{"a": {"c": True}, "b": [2]}"#));
    let global = run.global("y").expect("y is a global");
    assert!(matches!(global.kind(), Kind::Dict(dict) if dict.len() == 2));
}

#[test]
fn cycles_are_taken_apart_with_the_run() {
    let list = Value::list(Vec::new());
    let Kind::List(shared) = list.kind() else {
        panic!("a list is a list");
    };
    let weak = std::rc::Rc::downgrade(shared);
    let source =
        "x.append(x)\nx.append({'x': x})\ndef f():\n  def g(): return g\n  x.append(g)\nf()";
    let program = Program::parse("p", source.as_bytes(), &Dialect::extended(), &|name| {
        name == "x"
    });
    let program = program.expect("the program parses");
    let mut world = World {
        limits: Limits::default(),
        print: &mut |_| {},
        load: &mut |_| Ok(Vec::new()),
        interrupt: &mut || None,
    };
    let run = program
        .run(&[("x", list.clone())], &mut world)
        .expect("the program runs");
    drop(list);
    assert!(weak.upgrade().is_some());
    drop(run);
    assert!(weak.upgrade().is_none());
}
