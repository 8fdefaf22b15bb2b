//! Values with types outside of the language: those of modules and of the host.

use std::any::Any;
use std::cmp::Ordering;

use super::Value;
use crate::syntax::Operator;

/// A value with its own type.
pub trait Object {
    fn type_name(&self) -> &str;

    /// The value as `repr` returns it.
    fn repr(&self) -> Vec<u8>;

    /// Its size in bytes, unless it is small.
    fn size(&self) -> usize {
        0
    }

    fn truth(&self) -> bool {
        true
    }

    /// Whether it can be a key.
    fn is_hashable(&self) -> bool {
        false
    }

    /// The attribute `name` of the value; `this` is the value itself.
    fn attribute(&self, this: &Value, name: &str) -> Option<Value> {
        let _ = (this, name);
        None
    }

    fn attribute_names(&self) -> Vec<&'static str> {
        Vec::new()
    }

    /// The value of a key for mappings, or an error message; `None` for other objects.
    fn lookup(&self, key: &Value) -> Option<Result<Option<Value>, String>> {
        let _ = key;
        None
    }

    /// Compares it with another object of its type, if the type has an order.
    fn order(&self, other: &dyn Object) -> Option<Ordering> {
        let _ = other;
        None
    }

    /// The result of an operator, if the object supports it. `on_the_left` is whether it is the left operand.
    fn binary(
        &self,
        operator: Operator,
        other: &Value,
        on_the_left: bool,
    ) -> Option<Result<Value, String>> {
        let _ = (operator, other, on_the_left);
        None
    }

    /// The object itself, for downcasts.
    fn as_any(&self) -> &dyn Any;
}
