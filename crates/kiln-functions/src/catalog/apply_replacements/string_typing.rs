//! Keeps strings strings: the target of a source that is a string gets its tag and its quotes.

use kiln_krm::Resource;
use kiln_yaml::{NodeRef, Style};

use crate::budget::is_stopped;
use crate::port::kustomize::replacement::{
    DEFAULT_FIELD, Replacement, ReplacementSource, is_nothing, look_up, path_elements,
};
use crate::port::kustomize::{KustomizeRelease, ResourceId};

/// Goes through the replacements again. As in the original, it reads the resources after all replacements and ignores
/// label selectors and `reject`. Returns the indices of the changed resources.
pub(super) fn keep_strings(items: &mut [Resource], replacements: &[Replacement]) -> Vec<usize> {
    let mut changed = Vec::new();
    for replacement in replacements {
        let (Some(source), Some(targets)) = (&replacement.source, &replacement.targets) else {
            continue;
        };
        let Some((tag, style)) = string_source(items, source) else {
            continue;
        };
        let selected = targets.iter().filter_map(|t| Some((t, t.select.as_ref()?)));
        for (target, select) in selected {
            for (place, item) in items.iter_mut().enumerate() {
                if is_stopped() {
                    return changed;
                }
                if !ResourceId::of(item.root()).is_selected_by(&select.id) {
                    continue;
                }
                for field in target.fields() {
                    if set_type(item, field, &tag, style) {
                        changed.push(place);
                    }
                }
            }
        }
    }
    changed
}

/// The tag and style of a source, if the source is a string.
fn string_source(items: &[Resource], source: &ReplacementSource) -> Option<(String, Style)> {
    let is_source = |item: &&Resource| ResourceId::of(item.root()).is_selected_by(&source.id);
    let item = items.iter().find(is_source)?;
    let field = match source.field_path.as_str() {
        "" => DEFAULT_FIELD,
        field => field,
    };
    let node = node_at(item, field).filter(|node| !is_nothing(*node) && node.is_scalar())?;
    let is_quoted = [Style::DOUBLE_QUOTED, Style::SINGLE_QUOTED].contains(&node.style());
    let is_string = node.tag() == "!!str" || is_quoted;
    is_string.then(|| (node.tag().to_owned(), node.style()))
}

fn set_type(item: &mut Resource, field: &str, tag: &str, style: Style) -> bool {
    let Some(node) = node_at(item, field).filter(|node| node.is_scalar()) else {
        return false;
    };
    if node.tag() == tag && node.style() == style {
        return false;
    }
    let node = node.id();
    let document = item.document_mut();
    document.set_tag(node, tag);
    document.set_style(node, style);
    true
}

fn node_at<'a>(item: &'a Resource, field: &str) -> Option<NodeRef<'a>> {
    let path = path_elements(field, KustomizeRelease::Api0_19);
    let found = look_up(item.document(), &path, KustomizeRelease::Api0_19).ok()??;
    Some(item.document().node(found.node))
}
