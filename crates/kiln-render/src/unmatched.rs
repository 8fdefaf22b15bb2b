//! Warnings about selectors that match nothing, often because a kind is misspelt. kpt has no such warnings.

use kiln_go::quote;
use kiln_krm::kptfile::Selector;
use kiln_krm::{Resource, similar_name};

use crate::log::{Event, Log};
use crate::options::RenderCompat;

/// Logs a warning for each selector of a function that matches no resource, and for each exclusion with a misspelt kind.
pub(crate) fn warn_of_unmatched(
    log: &dyn Log,
    compat: RenderCompat,
    function: &str,
    selectors: &[Selector],
    exclusions: &[Selector],
    resources: &[Resource],
) {
    if compat == RenderCompat::Kpt || resources.is_empty() {
        return;
    }
    let unselected = selectors
        .iter()
        .filter_map(|selector| selector_problem(selector, resources));
    let not_excluded = exclusions
        .iter()
        .filter_map(|exclusion| exclusion_problem(exclusion, resources));
    let function = quote(function);
    for problem in unselected.chain(not_excluded) {
        log.event(Event::Warning(format!("function {function}: {problem}")));
    }
}

fn selector_problem(selector: &Selector, resources: &[Resource]) -> Option<String> {
    let mut roots = resources.iter().map(Resource::root);
    if roots.any(|root| selector.matches(root)) {
        return None;
    }
    let Some(kind) = missing_kind(selector, resources) else {
        return Some("a selector matches no resource".to_owned());
    };
    let similar = similar_kind(kind, resources).unwrap_or_default();
    let kind = quote(kind);
    Some(format!(
        "no resource has the kind {kind} of a selector{similar}"
    ))
}

/// A package may exclude kinds that it does not have yet, so only a kind that is similar to another is a problem.
fn exclusion_problem(exclusion: &Selector, resources: &[Resource]) -> Option<String> {
    let kind = missing_kind(exclusion, resources)?;
    let similar = similar_kind(kind, resources)?;
    let kind = quote(kind);
    Some(format!(
        "no resource has the kind {kind} of an exclusion{similar}"
    ))
}

/// The kind of a selector, if no resource has it.
fn missing_kind<'a>(selector: &'a Selector, resources: &[Resource]) -> Option<&'a str> {
    let kind = selector.kind.as_str();
    let is_known = resources.iter().any(|resource| resource.kind() == kind);
    (!kind.is_empty() && !is_known).then_some(kind)
}

fn similar_kind(kind: &str, resources: &[Resource]) -> Option<String> {
    let similar = similar_name(kind, resources.iter().map(Resource::kind))?;
    Some(format!("; did you mean {}?", quote(similar)))
}
