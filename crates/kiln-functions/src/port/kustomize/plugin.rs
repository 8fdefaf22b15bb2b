//! What the functions that wrap a transformer of kustomize have in common: their typed configuration, maps that get
//! entries, and how they fail.

use std::collections::BTreeMap;

use kiln_go::quote;
use kiln_krm::results::{ResultItem, Severity};
use kiln_yaml::Document;

use super::decode::{DecodeError, Reader, StructShape, Value, decode};
use super::path_filter::{Creation, FieldPath, FilterError, apply_spec, entry_setter};
use super::{FieldSpec, Generation};
use crate::budget::is_stopped;
use crate::function::{Ending, FunctionList};
use crate::output::Results;

/// Why a typed configuration is refused.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum PluginError {
    #[error(
        "failed to unmarshal config {text}: error unmarshaling JSON: while decoding JSON: {error}"
    )]
    Type { text: String, error: DecodeError },
    #[error("`fieldSpecs` has been deprecated, please rename it to `{0}`")]
    BothFields(&'static str),
}

/// The name of the field with field specs, and what it is called when both it and the former one are given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpecsField {
    pub(crate) name: &'static str,
    pub(crate) advised: &'static str,
}

/// Reads a typed configuration with its field specs.
pub(crate) fn read_plugin(
    document: &Document,
    shape: &'static StructShape,
    specs: SpecsField,
    generation: impl Into<Generation>,
) -> Result<(Value, Vec<FieldSpec>), PluginError> {
    let generation = generation.into();
    let value = decode(document, shape, Reader::Kubernetes).map_err(|error| {
        let text = kiln_yaml::to_string(document, generation.sequence_style());
        let text = quote(&text);
        PluginError::Type { text, error }
    })?;
    let is_former = matches!(generation, Generation::March2021 | Generation::May2021);
    let additional = match is_former {
        true => None,
        false => FieldSpec::list(value.field(specs.name)),
    };
    match (additional, FieldSpec::list(value.field("fieldSpecs"))) {
        (Some(_), Some(_)) => Err(PluginError::BothFields(specs.advised)),
        (additional, former) => Ok((value, additional.or(former).unwrap_or_default())),
    }
}

/// Sets entries of the maps that specs lead to, and tells of each.
pub(crate) fn set_entries(
    document: &mut Document,
    specs: &[&FieldSpec],
    entries: &BTreeMap<String, String>,
    generation: Generation,
    mut note: impl FnMut(FieldPath<'_>, &str, &str),
) -> Result<(), FilterError> {
    for (key, value) in entries {
        if is_stopped() {
            break;
        }
        let mut entry = entry_setter(key, value);
        for spec in specs {
            let mut set = |document: &mut Document, node, path: FieldPath<'_>| {
                note(path, key, value);
                entry.set(document, node, path, generation)
            };
            apply_spec(document, spec, Creation::Mapping, generation, &mut set)?;
        }
    }
    Ok(())
}

/// Ends a function that could not do its work.
pub(crate) fn fail(list: &mut FunctionList, generation: Generation, message: String) -> Ending {
    let printed = match generation {
        Generation::March2021 => message.clone(),
        Generation::May2021 => format!("[error] /// : {message}"),
        Generation::June2021 => format!("[error] : {message}"),
        _ => format!("[error]: {message}"),
    };
    list.results = Results::from(ResultItem {
        message,
        severity: Severity::Error.as_str().to_owned(),
        ..ResultItem::default()
    });
    Ending::Error(printed)
}
