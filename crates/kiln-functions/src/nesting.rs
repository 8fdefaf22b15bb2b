//! How deep the trees of a function's answer are. A short path can build a tree whose text is long: every level adds its
//! indentation to all lines below.

use kiln_krm::Resource;
use kiln_yaml::{NodeRef, Style};

/// The levels that kiln's parser and go-yaml read.
const MAX_DEPTH: usize = 10_000;

/// Charges the indentation of changed resources to the call, and returns an error message if one of them is nested so
/// deeply that nothing could read its text.
pub(crate) fn charge_indentation(items: &[Resource]) -> Result<(), String> {
    let changed = items
        .iter()
        .filter(|resource| !resource.document().is_unchanged());
    let mut indentation: usize = 0;
    let mut pending: Vec<(NodeRef<'_>, usize, bool)> = Vec::new();
    for resource in changed {
        pending.push((resource.root(), 0, false));
        while let Some((node, depth, is_inside_flow)) = pending.pop() {
            if depth > MAX_DEPTH {
                return Err(format!(
                    "function returned a resource that is nested more than {MAX_DEPTH} levels deep\n"
                ));
            }
            let is_flow = is_inside_flow || node.style().contains(Style::FLOW);
            if !is_flow {
                let lines = 1 + node.value().matches('\n').count();
                let bytes = depth.saturating_mul(2).saturating_mul(lines);
                indentation = indentation.saturating_add(bytes);
            }
            pending.extend(node.children().map(|child| (child, depth + 1, is_flow)));
        }
    }
    kiln_yaml::may_build(indentation);
    Ok(())
}
