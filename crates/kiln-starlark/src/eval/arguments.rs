//! The arguments of functions of the language, and errors about them.

use crate::error::{Failure, fail};
use crate::spell;
use crate::value::{Iter, Repr, Value, as_i32, as_i64};

/// The arguments of a function of the language, of a module or of the host.
pub struct Arguments<'a> {
    /// The name of the function, for messages.
    pub name: &'static str,
    /// The object of a method; `None` for functions.
    pub receiver: &'a Value,
    pub positional: &'a [Value],
    /// The named arguments: names and values in turn.
    pub(crate) named: &'a [Value],
}

/// The type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    Any,
    String,
    Bool,
    /// An integer of any size.
    Int,
    /// An integer of 64 bits.
    Int64,
    Callable,
    Iterable,
}

impl Want {
    pub(crate) fn check(self, value: &Value) -> Result<(), Failure> {
        let (is_right, wanted) = match self {
            Want::Any => (true, ""),
            Want::String => (matches!(value.0, Repr::String(_)), "string"),
            Want::Bool => (matches!(value.0, Repr::Bool(_)), "bool"),
            Want::Int => (matches!(value.0, Repr::Int(_) | Repr::Big(_)), "int"),
            Want::Int64 => return as_i64(value).map(|_| ()),
            Want::Callable => (is_callable(value), "callable"),
            Want::Iterable => (Iter::new(value).is_some(), "iterable"),
        };
        if is_right {
            return Ok(());
        }
        fail(format!("got {}, want {wanted}", value.type_name()))
    }
}

pub(crate) fn is_callable(value: &Value) -> bool {
    matches!(value.0, Repr::Function(_) | Repr::Builtin(_))
}

impl<'a> Arguments<'a> {
    pub fn named(&self) -> impl Iterator<Item = (&'a Value, &'a Value)> + use<'a> {
        self.named
            .chunks_exact(2)
            .filter_map(|pair| Some((pair.first()?, pair.get(1)?)))
    }

    /// Checks that there are only positional arguments, and how many.
    pub fn count(&self, least: usize, most: usize) -> Result<(), Failure> {
        let name = self.name;
        if !self.named.is_empty() {
            return fail(format!("{name}: unexpected keyword arguments"));
        }
        let given = self.positional.len();
        if given < least {
            let at_least = if least < most { "at least " } else { "" };
            return fail(format!(
                "{name}: got {given} arguments, want {at_least}{least}"
            ));
        }
        if given > most {
            let at_most = if most > least { "at most " } else { "" };
            return fail(format!(
                "{name}: got {given} arguments, want {at_most}{most}"
            ));
        }
        Ok(())
    }

    /// Checks the given positional arguments.
    pub(crate) fn check(&self, wants: &[Want], least: usize) -> Result<(), Failure> {
        self.count(least, wants.len())?;
        for (i, (value, want)) in self.positional.iter().zip(wants).enumerate() {
            want.check(value)
                .map_err(|failure| self.blame(i, failure))?;
        }
        Ok(())
    }

    fn blame(&self, place: usize, failure: Failure) -> Failure {
        failure.within(&format!("{}: for parameter {}", self.name, place + 1))
    }

    /// The positional argument at `place`.
    pub fn get(&self, place: usize) -> Option<&'a Value> {
        self.positional.get(place)
    }

    /// A positional argument whose existence has been checked.
    pub(crate) fn value(&self, place: usize) -> Value {
        self.positional.get(place).cloned().unwrap_or(Value::NONE)
    }

    /// A positional argument that must be a string.
    pub fn text(&self, place: usize) -> Result<&'a [u8], Failure> {
        match self
            .positional
            .get(place)
            .map(|value| (value, value.as_str_bytes()))
        {
            Some((_, Some(text))) => Ok(text),
            Some((value, None)) => {
                let type_name = value.type_name();
                Err(self.blame(place, Failure::new(format!("got {type_name}, want string"))))
            }
            None => Ok(b""),
        }
    }

    /// An optional positional argument that must be an integer.
    pub(crate) fn int(&self, place: usize) -> Result<Option<i64>, Failure> {
        let Some(value) = self.positional.get(place) else {
            return Ok(None);
        };
        as_i64(value)
            .map(Some)
            .map_err(|failure| self.blame(place, failure))
    }

    /// The bytes of the string that a method is called on.
    pub(crate) fn this_text(&self) -> &'a [u8] {
        self.receiver.as_str_bytes().unwrap_or_default()
    }

    /// Fails with the name of this function and a message.
    pub fn fail<T>(&self, message: impl AsRef<str>) -> Result<T, Failure> {
        fail(format!("{}: {}", self.name, message.as_ref()))
    }

    /// Adds the name of the function before the message of a failure.
    pub(crate) fn naming<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        result.map_err(|failure| failure.within(self.name))
    }

    /// The only argument, by position or by name.
    pub fn one(&self, param: &str) -> Result<Value, Failure> {
        let [value] = self.unpack([(param, Want::Any)])?;
        Ok(value.unwrap_or(Value::NONE))
    }

    /// The arguments by parameter, positional and named. A name that ends in `?` is optional, and so are all after
    /// it.
    pub(crate) fn unpack<const N: usize>(
        &self,
        params: [(&str, Want); N],
    ) -> Result<[Option<Value>; N], Failure> {
        self.unpack_some(self.positional, params)
    }

    /// The named arguments by parameter.
    pub(crate) fn unpack_named<const N: usize>(
        &self,
        params: [(&str, Want); N],
    ) -> Result<[Option<Value>; N], Failure> {
        self.unpack_some(&[], params)
    }

    fn unpack_some<const N: usize>(
        &self,
        positional: &[Value],
        params: [(&str, Want); N],
    ) -> Result<[Option<Value>; N], Failure> {
        let function = self.name;
        let mut out = [const { None }; N];
        let given = positional.len();
        if given > N {
            return fail(format!(
                "{function}: got {given} arguments, want at most {N}"
            ));
        }
        let blame = |param: &str, failure: Failure| {
            failure.within(&format!("{function}: for parameter {param}"))
        };
        for ((slot, (param, want)), value) in out.iter_mut().zip(&params).zip(positional) {
            let param = param.trim_end_matches('?');
            want.check(value).map_err(|failure| blame(param, failure))?;
            *slot = Some(value.clone());
        }
        for (name, value) in self.named() {
            let name = String::from_utf8_lossy(name.as_str_bytes().unwrap_or_default());
            let mut slots = out.iter_mut().zip(&params);
            let found = slots.find(|(_, (param, _))| param.trim_end_matches('?') == name);
            let Some((slot, (_, want))) = found else {
                return fail(unexpected(function, &name, &params));
            };
            if slot.is_some() {
                let what = "got multiple values for keyword argument";
                return fail(format!("{function}: {what} {}", kiln_go::quote(&name)));
            }
            want.check(value)
                .map_err(|failure| blame(&kiln_go::quote(&name), failure))?;
            *slot = Some(value.clone());
        }
        for (slot, (param, _)) in out.iter().zip(&params) {
            if param.ends_with('?') {
                break;
            }
            if slot.is_none() {
                return fail(format!("{function}: missing argument for {param}"));
            }
        }
        Ok(out)
    }
}

/// The error about a named argument without a parameter.
fn unexpected(function: &str, name: &str, params: &[(&str, Want)]) -> String {
    let shown = kiln_go::quote(name);
    let message = format!("{function}: unexpected keyword argument {shown}");
    // The original suggests only the first half of the names.
    let names = params.iter().take(params.len().div_ceil(2));
    let names = names.map(|(param, _)| param.trim_end_matches('?'));
    match spell::nearest(name, names) {
        Some(near) => format!("{message} (did you mean {near}?)"),
        None => message,
    }
}

/// An index argument: negative ones count from the end.
pub(crate) fn as_index(value: Option<&Value>, length: i64) -> Result<Option<i64>, Failure> {
    let Some(value) = value.filter(|value| !value.is_none()) else {
        return Ok(None);
    };
    let index = as_i32(value)?;
    Ok(Some(if index < 0 { index + length } else { index }))
}
