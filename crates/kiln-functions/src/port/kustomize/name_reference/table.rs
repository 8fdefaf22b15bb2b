//! Which fields refer to resources of which types, in kustomize's table.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::super::resource_id::ResourceId;
use super::super::{FieldSpec, KustomizeRelease};

/// A field of one type that contains the name of a resource of another type.
pub(super) struct NameReference {
    /// The field, and the type that has it.
    pub(super) field: FieldSpec,
    /// The type that it refers to, as a selector.
    pub(super) target: ResourceId,
}

/// The references of resources of this kind, in the order in which they are updated. The caller checks group and
/// version.
pub(super) fn references(
    kind: &str,
    release: KustomizeRelease,
) -> impl Iterator<Item = &'static NameReference> {
    // The older release does not update standalone pod templates.
    let is_known = kind != "PodTemplate" || release != KustomizeRelease::Api0_8;
    let references = TABLE.get(kind).filter(|_| is_known);
    references.into_iter().flatten()
}

/// By the kind of the referrer.
static TABLE: LazyLock<HashMap<&'static str, Vec<NameReference>>> =
    LazyLock::new(|| read(include_str!("table.txt")));

/// Parses the table: a line with a type, then indented lines with the fields that may refer to it. A type is `kind
/// version group` with `*` for any; fields have a list of kinds.
fn read(text: &'static str) -> HashMap<&'static str, Vec<NameReference>> {
    let any = |word: &'static str| if word == "*" { "" } else { word };
    let mut table: HashMap<&'static str, Vec<NameReference>> = HashMap::new();
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
                    table.entry(kind).or_default().push(NameReference {
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
    use super::{KustomizeRelease, TABLE, references};

    #[test]
    fn every_line_is_a_type_or_a_field() {
        let text = include_str!("table.txt");
        for line in text.lines() {
            let words = line.split_whitespace().count();
            assert_eq!(words, if line.starts_with(' ') { 4 } else { 3 }, "{line}");
        }
        // kustomize's table, which contains one entry twice.
        assert_eq!(TABLE.values().map(Vec::len).sum::<usize>(), 153);
    }

    #[test]
    fn older_releases_leave_pod_templates_alone() {
        let count = |release| references("PodTemplate", release).count();
        assert_eq!(count(KustomizeRelease::Api0_10), 1);
        assert_eq!(count(KustomizeRelease::Api0_8), 0);
    }
}
