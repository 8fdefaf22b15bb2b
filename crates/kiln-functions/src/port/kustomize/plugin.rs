//! What the functions that wrap a kustomize transformer share: typed configuration, setting entries of maps, and
//! failing.

use std::collections::BTreeMap;

use kiln_go::quote;
use kiln_krm::results::{ResultItem, Severity};
use kiln_yaml::Document;

use super::decode::{ConfigValue, DecodeError, StructShape, YamlReader, decode};
use super::path_filter::{Creation, FieldPath, FilterError, apply_spec, entry_setter};
use super::{FieldSpec, KustomizeRelease};
use crate::budget::is_stopped;
use crate::function::{Ending, FunctionList};
use crate::output::Results;

#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum PluginError {
    #[error(
        "failed to unmarshal config {text}: error unmarshaling JSON: while decoding JSON: {error}"
    )]
    Type { text: String, error: DecodeError },
    #[error("`fieldSpecs` has been deprecated, please rename it to `{0}`")]
    BothFields(&'static str),
}

/// The name of the field with field specs, and its name in the error if both it and the former one are given.
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
    release: impl Into<KustomizeRelease>,
) -> Result<(ConfigValue, Vec<FieldSpec>), PluginError> {
    let release = release.into();
    let value = decode(document, shape, YamlReader::Kubernetes).map_err(|error| {
        let text = kiln_yaml::to_string(document, release.sequence_style());
        let text = quote(&text);
        PluginError::Type { text, error }
    })?;
    let is_former = matches!(
        release,
        KustomizeRelease::Api0_7 | KustomizeRelease::Api0_7Kyaml0_10_20
    );
    let additional = match is_former {
        true => None,
        false => FieldSpec::list(value.field(specs.name)),
    };
    match (additional, FieldSpec::list(value.field("fieldSpecs"))) {
        (Some(_), Some(_)) => Err(PluginError::BothFields(specs.advised)),
        (additional, former) => Ok((value, additional.or(former).unwrap_or_default())),
    }
}

/// Sets entries of the maps at the specs, and calls `report` for each.
pub(crate) fn set_entries(
    document: &mut Document,
    specs: &[&FieldSpec],
    entries: &BTreeMap<String, String>,
    release: KustomizeRelease,
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
                entry.set(document, node, path, release)
            };
            apply_spec(document, spec, Creation::Mapping, release, &mut set)?;
        }
    }
    Ok(())
}

pub(crate) fn fail(list: &mut FunctionList, release: KustomizeRelease, message: String) -> Ending {
    let printed = match release {
        KustomizeRelease::Api0_7 => message.clone(),
        KustomizeRelease::Api0_7Kyaml0_10_20 => format!("[error] /// : {message}"),
        KustomizeRelease::Api0_8 => format!("[error] : {message}"),
        _ => format!("[error]: {message}"),
    };
    list.results = Results::from(ResultItem::new(Severity::Error, message));
    Ending::Error(printed)
}
