//! Which fields refer to resources of which types, as kustomize knows them.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::resource_id::ResourceId;
use super::super::{FieldSpec, Generation};

/// A field of the resources of one type that has the name of a resource of another.
pub(super) struct Reference {
    /// The field, and the type that has it.
    pub(super) field: FieldSpec,
    /// The type that it names, as a selector.
    pub(super) target: ResourceId,
}

/// The references that resources of this kind may have, in the order in which they are followed. Group and version are
/// for the caller to look at.
pub(super) fn references(
    kind: &str,
    generation: Generation,
) -> impl Iterator<Item = &'static Reference> {
    // The older one does not look into pod templates that stand alone.
    let is_known = kind != "PodTemplate" || generation != Generation::June2021;
    let references = TABLE.get(kind).filter(|_| is_known);
    references.into_iter().flatten()
}

/// By the kind that refers.
static TABLE: LazyLock<HashMap<&'static str, Vec<Reference>>> =
    LazyLock::new(|| read(include_str!("table.txt")));

/// Reads the table: a line with a type, then indented lines with the fields that may name one of it. A type is
/// `kind version group` with `*` for any; of fields the kinds are a list.
fn read(text: &'static str) -> HashMap<&'static str, Vec<Reference>> {
    let any = |word: &'static str| if word == "*" { "" } else { word };
    let mut table: HashMap<&'static str, Vec<Reference>> = HashMap::new();
    let mut target = ResourceId::default();
    for line in text.lines() {
        let words: Vec<&'static str> = line.split_whitespace().collect();
        match words.as_slice() {
            [kind, version, group] => {
                target = ResourceId {
                    group: any(group).to_owned(),
                    version: any(version).to_owned(),
                    kind: (*kind).to_owned(),
                    ..ResourceId::default()
                };
            }
            [kinds, version, group, path] => {
                for kind in kinds.split(',') {
                    table.entry(kind).or_default().push(Reference {
                        field: FieldSpec::new(any(group), any(version), kind, path, false),
                        target: target.clone(),
                    });
                }
            }
            _ => {}
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Generation, TABLE, references};

    #[test]
    fn every_line_is_a_type_or_a_field() {
        let text = include_str!("table.txt");
        for line in text.lines() {
            let words = line.split_whitespace().count();
            assert_eq!(words, if line.starts_with(' ') { 4 } else { 3 }, "{line}");
        }
        // As many as kustomize has, one of which it has twice.
        assert_eq!(TABLE.values().map(Vec::len).sum::<usize>(), 153);
    }

    #[test]
    fn older_releases_leave_pod_templates_alone() {
        let count = |generation| references("PodTemplate", generation).count();
        assert_eq!(count(Generation::December2021), 1);
        assert_eq!(count(Generation::June2021), 0);
    }
}
