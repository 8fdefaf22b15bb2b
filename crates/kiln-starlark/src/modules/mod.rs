//! Modules that a host may offer: those of starlib that only compute.
//!
//! `encoding/yaml.star` and `krmfn.star` are absent, because they need YAML.

mod base64;
mod csv;
mod hash;
mod json;
mod json_decode;
mod math;
mod re;

use crate::eval::Members;
use crate::value::{Builtin, Module, NativeFn, Value};

/// The members of a module, if it is known.
pub fn find(module: &str) -> Option<Members> {
    let (name, value) = match module {
        "encoding/base64.star" => ("base64", base64::module()),
        "encoding/csv.star" => ("csv", csv::module()),
        "encoding/json.star" => ("json", json::module()),
        "hash.star" => ("hash", hash::module()),
        "math.star" => ("math", math::module()),
        "re.star" => ("re", re::module()),
        _ => return None,
    };
    Some(vec![(name.to_owned(), value)])
}

fn module(name: &str, functions: &[(&str, &'static str, NativeFn)]) -> Value {
    let member = |(member, name, function): &(&str, &'static str, NativeFn)| {
        (
            (*member).to_owned(),
            Value::from(Builtin::new(name, *function)),
        )
    };
    Value::from(Module::new(name, functions.iter().map(member).collect()))
}
