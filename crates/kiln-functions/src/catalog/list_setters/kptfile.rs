//! The setters that the pipeline of the root package declares.

use std::collections::BTreeMap;

use kiln_krm::Resource;
use kiln_krm::annotations::PATH;
use kiln_krm::kptfile::{FILE_NAME, FormerKptfile, Kptfile, KptfileProblem};
use kiln_yaml::{NodeRef, SequenceStyle};

use crate::port::kyaml::data_map;

#[derive(Debug, thiserror::Error)]
pub(super) enum UnreadableKptfile {
    #[error("unable to read Kptfile: {0}")]
    Now(#[source] KptfileProblem),
    #[error("unable to read Kptfile: invalid 'v1' Kptfile: {0}")]
    Then(String),
}

/// Which Kptfile schema applies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kptfiles {
    Of2021,
    Current,
}

/// Setters and values of all apply-setters calls. `None` if there is no Kptfile, no such call, or a configuration is
/// missing.
pub(super) fn declared(
    items: &[Resource],
    known: Kptfiles,
) -> Result<BTreeMap<String, String>, UnreadableKptfile> {
    let find = |path: &str| {
        let mut items = items.iter();
        items.find(|item| item.annotation(PATH) == Some(path))
    };
    let nothing = BTreeMap::new();
    let Some(kptfile) = find(FILE_NAME) else {
        return Ok(nothing);
    };
    // Line numbers in messages count from the Kptfile.
    let text = kiln_yaml::to_string(kptfile.document(), SequenceStyle::Compact);
    let decoded = Kptfile::read(text.as_bytes()).map_err(|problem| match known {
        Kptfiles::Current => UnreadableKptfile::Now(problem),
        Kptfiles::Of2021 => UnreadableKptfile::Then(problem.to_string()),
    })?;
    if known == Kptfiles::Of2021
        && let Ok(Some(document)) = kiln_yaml::parse(&text)
        && let Err(error) = FormerKptfile::decode(&document)
    {
        return Err(UnreadableKptfile::Then(error.to_string()));
    }
    let mutators = kptfile.root().get_path(&["pipeline", "mutators"]);
    let nodes = mutators.into_iter().flat_map(NodeRef::items);
    let mutators = decoded.pipeline.into_iter().flat_map(|p| p.mutators);
    let mut declared = BTreeMap::new();
    for (function, node) in mutators.zip(nodes) {
        if !function.image.contains("apply-setters") {
            continue;
        }
        // An empty map counts.
        let has_map = node.get("configMap").is_some_and(NodeRef::is_mapping);
        match (has_map, function.config_path.as_str()) {
            (true, _) => declared.extend(function.config_map),
            (false, "") => return Ok(nothing),
            (false, path) => match find(path) {
                Some(setters) => declared.extend(data_map(Some(setters.document()))),
                None => return Ok(nothing),
            },
        }
    }
    Ok(declared)
}
