//! Values that are not of the language: those of modules and of the host.

use std::any::Any;
use std::cmp::Ordering;

use super::Value;
use crate::syntax::Operator;

/// A value with a type of its own.
pub trait Object {
    /// The name of its type.
    fn type_name(&self) -> &str;

    /// The value as `repr` gives it.
    fn repr(&self) -> Vec<u8>;

    /// How many bytes it needs, as far as it is not small.
    fn size(&self) -> usize {
        0
    }

    /// Whether a condition holds for it.
    fn truth(&self) -> bool {
        true
    }

    /// Whether it can be a key.
    fn is_hashable(&self) -> bool {
        false
    }

    /// The attribute `name` of the value, which `this` is.
    fn attribute(&self, this: &Value, name: &str) -> Option<Value> {
        let _ = (this, name);
        None
    }

    /// The names of all attributes.
    fn attribute_names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The value of a key, for objects that are mappings, or why it cannot be had; nothing for all others.
    fn lookup(&self, key: &Value) -> Option<Result<Option<Value>, String>> {
        let _ = key;
        None
    }

    /// How it compares with another object of its type, if the type has an order.
    fn order(&self, other: &dyn Object) -> Option<Ordering> {
        let _ = other;
        None
    }

    /// What an operator gives for it and another value, if it knows. `on_the_left` says on which side it
    /// is.
    fn binary(
        &self,
        operator: Operator,
        other: &Value,
        on_the_left: bool,
    ) -> Option<Result<Value, String>> {
        let _ = (operator, other, on_the_left);
        None
    }

    /// The object itself, to find out what it is.
    fn as_any(&self) -> &dyn Any;
}
