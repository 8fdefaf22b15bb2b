//! The values of programs.
//!
//! A [`Value`] is small and cheap to clone; clones share lists, dicts and sets. Nothing here recurses as deep as a
//! value nests, not even dropping one.

mod ancestors;
mod children;
mod compare;
mod dict;
mod function;
mod hash;
pub(crate) mod int;
mod iterate;
mod list;
mod object;
mod range;
mod repr;
mod set;
mod structure;
mod table;
mod view;

use std::rc::Rc;

use num_bigint::BigInt;

pub use ancestors::Ancestors;
pub use children::ValueChildren;
pub(crate) use compare::{Comparison, compare, equal};
pub use dict::Dict;
pub use function::{Builtin, NativeFn};
pub(crate) use function::{ProgramFunction, SharedVariable};
pub(crate) use int::{as_byte, as_i32, as_i64, new_int, number_to_int};
pub(crate) use iterate::Iter;
pub use list::List;
pub use object::Object;
pub(crate) use range::Range;
pub use repr::format_float;
pub(crate) use repr::write_repr;
pub use set::Set;
pub use structure::{Module, Struct};
pub(crate) use table::HashTable;
pub(crate) use view::{View, ViewKind};

use crate::builder::{STRING_BYTES, TextBuilder};
use crate::builtins::Method;
use crate::error::Failure;
use crate::usage::Usage;

/// A value of the language.
#[derive(Clone)]
pub struct Value(pub(crate) Repr);

/// The representation of a value. The last four are internal to the machine.
#[derive(Clone)]
pub(crate) enum Repr {
    None,
    Bool(bool),
    Int(i64),
    /// An integer that does not fit the variant above.
    Big(Rc<BigInt>),
    Float(f64),
    String(Rc<[u8]>),
    Bytes(Rc<[u8]>),
    List(Rc<List>),
    Tuple(Rc<Tuple>),
    Dict(Rc<Dict>),
    Set(Rc<Set>),
    Range(Rc<Range>),
    Function(Rc<ProgramFunction>),
    Builtin(Rc<Builtin>),
    Struct(Rc<Struct>),
    Module(Rc<Module>),
    View(Rc<View>),
    Object(Rc<dyn Object>),
    /// A variable without a value yet.
    Unset,
    /// A variable that inner functions share.
    Cell(Rc<SharedVariable>),
    /// A method about to be called.
    Method(&'static Method),
    /// A placeholder for the missing default of a keyword-only parameter.
    Mandatory,
}

/// The elements of a tuple.
pub(crate) struct Tuple(pub(crate) Vec<Value>);

/// The kind of a value and its content, for hosts.
pub enum ValueKind<'a> {
    None,
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// A larger integer.
    BigInt(&'a BigInt),
    Float(f64),
    /// Text, usually UTF-8.
    String(&'a [u8]),
    Bytes(&'a [u8]),
    List(&'a Rc<List>),
    Tuple(&'a [Value]),
    Dict(&'a Rc<Dict>),
    Set(&'a Rc<Set>),
    Struct(&'a Rc<Struct>),
    /// A value of the host.
    Object(&'a Rc<dyn Object>),
    /// Functions, modules, ranges and the like.
    Other,
}

impl Value {
    /// `None`.
    pub const NONE: Value = Value(Repr::None);
    pub(crate) const UNSET: Value = Value(Repr::Unset);

    pub fn string(text: impl AsRef<[u8]>) -> Value {
        Value(Repr::String(Rc::from(text.as_ref())))
    }

    pub fn bytes(bytes: impl AsRef<[u8]>) -> Value {
        Value(Repr::Bytes(Rc::from(bytes.as_ref())))
    }

    /// A new list.
    pub fn list(elements: Vec<Value>) -> Value {
        Value(Repr::List(Rc::new(List::new(elements))))
    }

    pub fn tuple(elements: Vec<Value>) -> Value {
        Value(Repr::Tuple(Rc::new(Tuple(elements))))
    }

    /// A value with its own type.
    pub fn object(object: Rc<dyn Object>) -> Value {
        Value(Repr::Object(object))
    }

    /// The kind of the value and its content.
    pub fn kind(&self) -> ValueKind<'_> {
        match &self.0 {
            Repr::None => ValueKind::None,
            Repr::Bool(bool) => ValueKind::Bool(*bool),
            Repr::Int(int) => ValueKind::Int(*int),
            Repr::Big(big) => ValueKind::BigInt(big),
            Repr::Float(float) => ValueKind::Float(*float),
            Repr::String(text) => ValueKind::String(text),
            Repr::Bytes(bytes) => ValueKind::Bytes(bytes),
            Repr::List(list) => ValueKind::List(list),
            Repr::Tuple(tuple) => ValueKind::Tuple(&tuple.0),
            Repr::Dict(dict) => ValueKind::Dict(dict),
            Repr::Set(set) => ValueKind::Set(set),
            Repr::Struct(structure) => ValueKind::Struct(structure),
            Repr::Object(object) => ValueKind::Object(object),
            _ => ValueKind::Other,
        }
    }

    /// The name of the value's type, as `type` returns it.
    pub fn type_name(&self) -> &str {
        match &self.0 {
            Repr::None => "NoneType",
            Repr::Bool(_) => "bool",
            Repr::Int(_) | Repr::Big(_) => "int",
            Repr::Float(_) => "float",
            Repr::String(_) => "string",
            Repr::Bytes(_) => "bytes",
            Repr::List(_) => "list",
            Repr::Tuple(_) => "tuple",
            Repr::Dict(_) => "dict",
            Repr::Set(_) => "set",
            Repr::Range(_) => "range",
            Repr::Function(_) => "function",
            Repr::Builtin(_) | Repr::Method(_) => "builtin_function_or_method",
            Repr::Struct(_) => "struct",
            Repr::Module(_) => "module",
            Repr::View(view) => view.type_name(),
            Repr::Object(object) => object.type_name(),
            Repr::Unset | Repr::Cell(_) => "unset",
            Repr::Mandatory => "mandatory",
        }
    }

    pub fn truth(&self) -> bool {
        match &self.0 {
            Repr::None | Repr::Mandatory | Repr::Unset => false,
            Repr::Bool(bool) => *bool,
            Repr::Int(int) => *int != 0,
            Repr::Float(float) => *float != 0.0,
            Repr::String(bytes) | Repr::Bytes(bytes) => !bytes.is_empty(),
            Repr::List(list) => !list.is_empty(),
            Repr::Tuple(tuple) => !tuple.0.is_empty(),
            Repr::Dict(dict) => !dict.is_empty(),
            Repr::Set(set) => !set.is_empty(),
            Repr::Range(range) => range.length > 0,
            Repr::Object(object) => object.truth(),
            _ => true,
        }
    }

    pub fn as_str_bytes(&self) -> Option<&[u8]> {
        match &self.0 {
            Repr::String(text) => Some(text),
            _ => None,
        }
    }

    /// The length of strings and sequences.
    pub(crate) fn length(&self) -> Option<usize> {
        Some(match &self.0 {
            Repr::String(bytes) | Repr::Bytes(bytes) => bytes.len(),
            Repr::List(list) => list.len(),
            Repr::Tuple(tuple) => tuple.0.len(),
            Repr::Dict(dict) => dict.len(),
            Repr::Set(set) => set.len(),
            Repr::Range(range) => range.length,
            Repr::View(view) => return view.length(),
            _ => return None,
        })
    }

    /// A string that a run creates, charged.
    pub fn new_string(usage: &Usage<'_>, text: impl AsRef<[u8]>) -> Result<Value, Failure> {
        let text = text.as_ref();
        usage.allocate(text.len() + STRING_BYTES)?;
        Ok(Value::string(text))
    }

    /// The value in the notation of the language, as `repr` returns it.
    pub fn repr(&self, usage: &Usage<'_>) -> Result<Vec<u8>, Failure> {
        let mut out = TextBuilder::new(usage);
        write_repr(self, &mut out)?;
        Ok(out.into_bytes())
    }

    /// The same for messages.
    pub(crate) fn shown(&self, usage: &Usage<'_>) -> Result<String, Failure> {
        Ok(String::from_utf8_lossy(&self.repr(usage)?).into_owned())
    }

    pub(crate) fn is_none(&self) -> bool {
        matches!(self.0, Repr::None)
    }

    pub(crate) fn is_unset(&self) -> bool {
        matches!(self.0, Repr::Unset)
    }

    /// Whether dropping the value may drop others.
    fn has_children(&self) -> bool {
        matches!(
            self.0,
            Repr::List(_)
                | Repr::Tuple(_)
                | Repr::Dict(_)
                | Repr::Set(_)
                | Repr::Struct(_)
                | Repr::Function(_)
                | Repr::Builtin(_)
                | Repr::Cell(_)
        )
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The whole value may be too long to print.
        write!(out, "Value({})", self.type_name())
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Value {
        Value(Repr::Bool(bool))
    }
}

impl From<i32> for Value {
    fn from(int: i32) -> Value {
        Value(Repr::Int(i64::from(int)))
    }
}

impl From<i64> for Value {
    fn from(int: i64) -> Value {
        Value(Repr::Int(int))
    }
}

impl From<usize> for Value {
    fn from(int: usize) -> Value {
        Value::from(BigInt::from(int))
    }
}

impl From<f64> for Value {
    fn from(float: f64) -> Value {
        Value(Repr::Float(float))
    }
}

impl From<BigInt> for Value {
    fn from(big: BigInt) -> Value {
        match i64::try_from(&big) {
            Ok(small) => Value(Repr::Int(small)),
            Err(_) => Value(Repr::Big(Rc::new(big))),
        }
    }
}

impl From<Builtin> for Value {
    fn from(builtin: Builtin) -> Value {
        Value(Repr::Builtin(Rc::new(builtin)))
    }
}

impl From<Dict> for Value {
    fn from(dict: Dict) -> Value {
        Value(Repr::Dict(Rc::new(dict)))
    }
}

impl From<Set> for Value {
    fn from(set: Set) -> Value {
        Value(Repr::Set(Rc::new(set)))
    }
}

impl From<Struct> for Value {
    fn from(structure: Struct) -> Value {
        Value(Repr::Struct(Rc::new(structure)))
    }
}

impl From<Module> for Value {
    fn from(module: Module) -> Value {
        Value(Repr::Module(Rc::new(module)))
    }
}

impl Drop for Tuple {
    fn drop(&mut self) {
        drop_all(std::mem::take(&mut self.0));
    }
}

/// Drops values and their content without recursion: the last owner of elements moves them to the work list first.
pub(crate) fn drop_all(mut work: Vec<Value>) {
    while let Some(value) = work.pop() {
        if !value.has_children() {
            continue;
        }
        match value.0 {
            Repr::List(list) => {
                work.extend(Rc::into_inner(list).map(List::take).unwrap_or_default())
            }
            Repr::Tuple(tuple) => {
                if let Some(mut tuple) = Rc::into_inner(tuple) {
                    work.append(&mut tuple.0);
                }
            }
            Repr::Dict(dict) => {
                if let Some(dict) = Rc::into_inner(dict) {
                    dict.take(&mut work);
                }
            }
            Repr::Set(set) => {
                if let Some(set) = Rc::into_inner(set) {
                    set.take(&mut work);
                }
            }
            Repr::Struct(structure) => {
                if let Some(structure) = Rc::into_inner(structure) {
                    structure.take(&mut work);
                }
            }
            Repr::Function(function) => {
                if let Some(function) = Rc::into_inner(function) {
                    function.take(&mut work);
                }
            }
            Repr::Builtin(builtin) => {
                work.extend(Rc::into_inner(builtin).and_then(Builtin::take_receiver));
            }
            Repr::Cell(cell) => work.extend(Rc::into_inner(cell).map(SharedVariable::take)),
            _ => {}
        }
    }
}
