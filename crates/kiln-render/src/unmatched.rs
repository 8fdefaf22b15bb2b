//! Warnings about selectors that match nothing, often because a kind is misspelt. kpt has no such warnings.

use kiln_go::quote;
use kiln_krm::kptfile::Selector;
use kiln_krm::{Resource, similar_name};

use crate::log::{Event, Log};
use crate::options::RenderCompat;

/// Logs a warning for each selector of a function that matches no resource.
pub(crate) fn warn_of_unmatched(
    log: &dyn Log,
    compat: RenderCompat,
    function: &str,
    selectors: &[Selector],
    resources: &[Resource],
) {
    if compat == RenderCompat::Kpt || resources.is_empty() {
        return;
    }
    let function = quote(function);
    for selector in selectors {
        let mut roots = resources.iter().map(Resource::root);
        if roots.any(|root| selector.matches(root)) {
            continue;
        }
        let kinds = || resources.iter().map(Resource::kind);
        let kind = selector.kind.as_str();
        let problem = match kinds().any(|known| known == kind) || kind.is_empty() {
            true => "a selector matches no resource".to_owned(),
            false => {
                let similar = similar_name(kind, kinds());
                let similar = similar.map(|name| format!("; did you mean {}?", quote(name)));
                let similar = similar.unwrap_or_default();
                format!(
                    "no resource has the kind {} of a selector{similar}",
                    quote(kind)
                )
            }
        };
        log.event(Event::Warning(format!("function {function}: {problem}")));
    }
}
