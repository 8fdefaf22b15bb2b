//! The functions and methods of the language.

mod bytes;
mod convert;
mod dict;
mod format;
mod list;
mod number;
mod sequence;
mod set;
mod sort;
mod split;
mod string;
mod universe;

pub(crate) use number::go_float;
pub use sort::stable_sort;

use crate::value::{Builtin, NativeFn, Repr, Value};

pub(crate) struct Method {
    pub(crate) name: &'static str,
    pub(crate) function: NativeFn,
}

/// Whether a name is a function of the language.
pub(crate) fn is_universal(name: &str) -> bool {
    matches!(name, "None" | "True" | "False") || universe::find(name).is_some()
}

pub(crate) fn universal(name: &str) -> Option<Value> {
    let method = universe::find(name)?;
    Some(Value::from(Builtin::new(method.name, method.function)))
}

pub(crate) fn find_method(value: &Value, name: &str) -> Option<&'static Method> {
    find(methods_of(value), name)
}

pub(crate) fn method_names(value: &Value) -> impl Iterator<Item = &'static str> {
    methods_of(value).iter().map(|method| method.name)
}

/// The methods of a value's type, sorted by name.
fn methods_of(value: &Value) -> &'static [Method] {
    match &value.0 {
        Repr::String(_) => string::METHODS,
        Repr::Bytes(_) => bytes::METHODS,
        Repr::List(_) => list::METHODS,
        Repr::Dict(_) => dict::METHODS,
        Repr::Set(_) => set::METHODS,
        _ => &[],
    }
}

fn find(sorted: &'static [Method], name: &str) -> Option<&'static Method> {
    let place = sorted
        .binary_search_by(|method| method.name.cmp(name))
        .ok()?;
    sorted.get(place)
}

macro_rules! methods {
    ($($name:ident: $function:path,)*) => {
        &[$(crate::builtins::Method { name: stringify!($name), function: $function },)*]
    };
}
pub(crate) use methods;

#[cfg(test)]
mod tests;
