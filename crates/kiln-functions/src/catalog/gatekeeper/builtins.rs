//! Functions of Rego that the engine lacks, and functions that charge the values that policies build.
//!
//! OPA has dropped `any`, `all`, `re_match` and others since; many policies for Gatekeeper use them.

use std::collections::BTreeSet;
use std::sync::Arc;

use regorus::unstable::{BUILTINS, must_cache};
use regorus::{Engine, Value};

use super::bounded::{self, BuiltinResult, SLOT};
use super::limits::{Meter, bits};
use super::pattern;
use super::rewrite::{ELEMENT, RESULT, VALUE};

/// `None` stands for undefined.
type Builtin = fn(&[Value]) -> Option<Value>;

/// Functions of OPA that the engine lacks, with the number of their arguments.
const FUNCTIONS: [(&str, u8, Builtin); 9] = [
    ("any", 1, |args| {
        let mut items = items(args.first()?)?;
        Some(Value::from(items.any(|item| *item == Value::Bool(true))))
    }),
    ("all", 1, |args| {
        let mut items = items(args.first()?)?;
        Some(Value::from(items.all(|item| *item == Value::Bool(true))))
    }),
    ("set_diff", 2, |args| {
        let [left, right] = args else { return None };
        let right: BTreeSet<&Value> = items(right)?.collect();
        let rest = items(left)?.filter(|item| !right.contains(item));
        Some(Value::from(rest.cloned().collect::<BTreeSet<_>>()))
    }),
    ("cast_array", 1, |args| {
        Some(Value::from(
            items(args.first()?)?.cloned().collect::<Vec<_>>(),
        ))
    }),
    ("cast_set", 1, |args| {
        let items = items(args.first()?)?;
        Some(Value::from(items.cloned().collect::<BTreeSet<_>>()))
    }),
    ("cast_string", 1, |args| {
        only(args, |value| matches!(value, Value::String(_)))
    }),
    ("cast_boolean", 1, |args| {
        only(args, |value| matches!(value, Value::Bool(_)))
    }),
    ("cast_null", 1, |args| {
        only(args, |value| matches!(value, Value::Null))
    }),
    ("cast_object", 1, |args| {
        only(args, |value| matches!(value, Value::Object(_)))
    }),
];

/// The name of `regex.match` in earlier versions of OPA.
const RE_MATCH: &str = "re_match";

/// Registers the functions. As in OPA, calls with invalid arguments are undefined.
pub(super) fn add(engine: &mut Engine, meter: &Arc<Meter>) -> Result<(), String> {
    bounded::add(engine, meter)?;
    for (name, arguments, function) in FUNCTIONS {
        let meter = meter.clone();
        let extension = move |args: Vec<Value>| {
            for value in &args {
                meter.charge(bounded::items_of(value).count() as u64 * SLOT)?;
            }
            Ok(function(&args).unwrap_or(Value::Undefined))
        };
        let added = engine.add_extension(name.to_owned(), arguments, Box::new(extension));
        added.map_err(|error| error.to_string())?;
    }
    let metered: [(&str, u8, Metered); 4] = [
        (RE_MATCH, 2, |args, meter| match args.as_slice() {
            [pattern, text] => pattern::matches(pattern, text, meter),
            _ => Ok(None),
        }),
        (ELEMENT, 2, |args, meter| charge(args, 2 * SLOT, meter)),
        (VALUE, 2, |args, meter| charge(args, 0, meter)),
        (RESULT, 1, |args, meter| {
            let result = args.into_iter().next();
            match &result {
                Some(set @ Value::Set(_)) => meter.charge(bounded::shallow_size(set))?,
                result => meter.fits_number(result.as_ref().map_or(0, bits))?,
            }
            Ok(result)
        }),
    ];
    for (name, arguments, function) in metered {
        let meter = meter.clone();
        let extension = move |args: Vec<Value>| match function(args, &meter) {
            Ok(value) => Ok(value.unwrap_or(Value::Undefined)),
            Err(over) => Err(over.into()),
        };
        let added = engine.add_extension(name.to_owned(), arguments, Box::new(extension));
        added.map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Whether a policy may call a function.
pub(super) fn is_known(name: &str) -> bool {
    let mut added = FUNCTIONS.iter().map(|(added, ..)| *added);
    matches!(name, "print" | RE_MATCH)
        || BUILTINS.contains_key(name)
        || added.any(|added| added == name)
}

/// Whether a function may return another value for the same arguments in the next evaluation, as in OPA. The engine keeps its
/// values for the duration of one evaluation.
pub(super) fn is_random(name: &str) -> bool {
    must_cache(name).is_some()
}

type Metered = fn(Vec<Value>, &Meter) -> BuiltinResult;

/// Charges a value with at most that many new parts. The other parts have been charged, or are shared with the input.
fn charge(args: Vec<Value>, slot: u64, meter: &Meter) -> BuiltinResult {
    let mut args = args.into_iter();
    let (Some(value), Some(built)) = (args.next(), args.next()) else {
        return Ok(None);
    };
    let built = built.as_u64().unwrap_or_default();
    let parts = match (built, &value) {
        (0, _) => 0,
        (_, Value::Array(_) | Value::Set(_) | Value::Object(_)) => meter.size(&value)?.parts,
        _ => 0,
    };
    meter.charge(slot + parts.min(built) * 2 * SLOT + bits(&value) / 8)?;
    Ok(Some(value))
}

fn items(value: &Value) -> Option<Box<dyn Iterator<Item = &Value> + '_>> {
    match value {
        Value::Array(items) => Some(Box::new(items.iter())),
        Value::Set(items) => Some(Box::new(items.iter())),
        _ => None,
    }
}

fn only(args: &[Value], is: fn(&Value) -> bool) -> Option<Value> {
    args.first().filter(|value| is(value)).cloned()
}
