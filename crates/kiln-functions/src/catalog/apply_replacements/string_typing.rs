//! Strings stay strings: a target gets the type and the quotes of a source that is one.

use kiln_krm::Resource;
use kiln_yaml::{NodeRef, Style};

use crate::budget::is_stopped;
use crate::port::kustomize::replacement::{
    DEFAULT_FIELD, Replacement, Source, is_nothing, look_up, path_elements,
};
use crate::port::kustomize::{Generation, ResourceId};

/// Goes over the replacements again. As in the original it is the resources after all replacements that count, and
/// neither labels nor what is rejected does. Returns the places of what changed.
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

/// The type and style of a source that is a string.
fn string_source(items: &[Resource], source: &Source) -> Option<(String, Style)> {
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
    let path = path_elements(field, Generation::Of2025);
    let found = look_up(item.document(), &path, Generation::Of2025).ok()??;
    Some(item.document().node(found.node))
}
