//! Values in the notation of the language.

use std::rc::Rc;

use super::{Repr, Value};
use crate::text;

/// What is still to be written.
enum Task {
    Value(Value),
    Text(&'static [u8]),
    Key(String),
    /// The end of a list or dict: it may be written again.
    Leave,
}

/// Appends the notation of a value. A list or dict inside itself is three dots.
pub(crate) fn write_repr(value: &Value, out: &mut Vec<u8>) {
    let mut tasks = vec![Task::Value(value.clone())];
    let mut path: Vec<*const ()> = Vec::new();
    while let Some(task) = tasks.pop() {
        match task {
            Task::Text(text) => out.extend_from_slice(text),
            Task::Key(key) => {
                out.extend_from_slice(key.as_bytes());
                out.extend_from_slice(b" = ");
            }
            Task::Leave => {
                path.pop();
            }
            Task::Value(value) => write_one(&value, out, &mut tasks, &mut path),
        }
    }
}

fn write_one(value: &Value, out: &mut Vec<u8>, tasks: &mut Vec<Task>, path: &mut Vec<*const ()>) {
    match &value.0 {
        Repr::None => out.extend_from_slice(b"None"),
        Repr::Bool(true) => out.extend_from_slice(b"True"),
        Repr::Bool(false) => out.extend_from_slice(b"False"),
        Repr::Int(int) => out.extend_from_slice(int.to_string().as_bytes()),
        Repr::Big(big) => out.extend_from_slice(big.to_string().as_bytes()),
        Repr::Float(float) => out.extend_from_slice(format_float(*float, b'g').as_bytes()),
        Repr::String(bytes) => text::quote(bytes, false, out),
        Repr::Bytes(bytes) => text::quote(bytes, true, out),
        Repr::List(list) => {
            let place = Rc::as_ptr(list).cast::<()>();
            if path.contains(&place) {
                out.extend_from_slice(b"[...]");
                return;
            }
            path.push(place);
            out.push(b'[');
            tasks.push(Task::Text(b"]"));
            tasks.push(Task::Leave);
            push_elements(&list.elements(), tasks);
        }
        Repr::Tuple(tuple) => {
            out.push(b'(');
            tasks.push(Task::Text(if tuple.0.len() == 1 { b",)" } else { b")" }));
            push_elements(&tuple.0, tasks);
        }
        Repr::Dict(dict) => {
            let place = Rc::as_ptr(dict).cast::<()>();
            if path.contains(&place) {
                out.extend_from_slice(b"{...}");
                return;
            }
            path.push(place);
            out.push(b'{');
            tasks.push(Task::Text(b"}"));
            tasks.push(Task::Leave);
            let items = dict.items();
            for (i, (key, value)) in items.into_iter().enumerate().rev() {
                tasks.push(Task::Value(value));
                tasks.push(Task::Text(b": "));
                tasks.push(Task::Value(key));
                if i > 0 {
                    tasks.push(Task::Text(b", "));
                }
            }
        }
        Repr::Set(set) => {
            out.extend_from_slice(b"set([");
            tasks.push(Task::Text(b"])"));
            push_elements(&set.elements(), tasks);
        }
        Repr::Range(range) => out.extend_from_slice(range.shown().as_bytes()),
        Repr::Function(function) => {
            out.extend_from_slice(format!("<function {}>", function.code.name).as_bytes());
        }
        Repr::Builtin(builtin) => {
            let name = builtin.name();
            let shown = match &builtin.receiver {
                Some(receiver) => {
                    format!("<built-in method {name} of {} value>", receiver.type_name())
                }
                None => format!("<built-in function {name}>"),
            };
            out.extend_from_slice(shown.as_bytes());
        }
        Repr::Struct(structure) => {
            out.extend_from_slice(b"struct(");
            tasks.push(Task::Text(b")"));
            let fields: Vec<_> = structure.fields().collect();
            for (i, (name, value)) in fields.into_iter().enumerate().rev() {
                tasks.push(Task::Value(value.clone()));
                tasks.push(Task::Key(name.to_owned()));
                if i > 0 {
                    tasks.push(Task::Text(b", "));
                }
            }
        }
        Repr::Module(module) => {
            out.extend_from_slice(format!("<module {}>", text::go_quote(&module.name)).as_bytes());
        }
        Repr::View(view) => view.write(out),
        Repr::Object(object) => out.extend_from_slice(&object.repr()),
        Repr::Unset | Repr::Cell(_) | Repr::Method(_) | Repr::Mandatory => {}
    }
}

fn push_elements(elements: &[Value], tasks: &mut Vec<Task>) {
    for (i, element) in elements.iter().enumerate().rev() {
        tasks.push(Task::Value(element.clone()));
        if i > 0 {
            tasks.push(Task::Text(b", "));
        }
    }
}

/// A float as Go's `strconv.FormatFloat` prints it: with `g` and `G` as short as can be but always with a
/// point or an exponent, with the others six digits behind the point.
pub(crate) fn format_float(float: f64, conversion: u8) -> String {
    if float.is_nan() {
        return "nan".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "+inf" } else { "-inf" }.to_owned();
    }
    let text = match conversion {
        b'f' | b'F' => return format!("{float:.6}"),
        b'e' | b'E' => with_exponent(&format!("{float:.6e}")),
        _ => shortest(float),
    };
    if conversion.is_ascii_uppercase() {
        text.to_ascii_uppercase()
    } else {
        text
    }
}

fn shortest(float: f64) -> String {
    let scientific = format!("{float:e}");
    let exponent = scientific
        .split_once('e')
        .and_then(|(_, exponent)| exponent.parse().ok());
    let exponent: i32 = exponent.unwrap_or(0);
    // Where Go changes to exponents when it looks for the shortest form.
    if !(-4..6).contains(&exponent) {
        return with_exponent(&scientific);
    }
    let mut text = format!("{float}");
    if !text.contains('.') {
        text.push_str(".0");
    }
    text
}

/// Gives an exponent its sign and at least two digits.
fn with_exponent(text: &str) -> String {
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text.to_owned();
    };
    let (sign, digits) = match exponent.strip_prefix('-') {
        Some(digits) => ('-', digits),
        None => ('+', exponent),
    };
    format!("{mantissa}e{sign}{digits:0>2}")
}
