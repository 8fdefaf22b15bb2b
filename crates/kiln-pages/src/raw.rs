//! The only place of the pages that is not escaped by the templates: the style sheet, and a model as JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

const STYLE: &str = include_str!("style.css");

pub(crate) fn style() -> Markup {
    html! { style { (PreEscaped(STYLE)) } }
}

/// The source of the style sheet for a Content-Security-Policy: its hash, so that no other style is applied.
pub(crate) fn style_source() -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(STYLE)))
}

/// A model, for other tools. A `<` in a text could end the element, so none is left.
pub(crate) fn data(model: &impl serde::Serialize) -> Markup {
    let json = serde_json::to_string(model).unwrap_or_default();
    let json = json.replace('<', "\\u003c");
    html! { script type="application/json" id="data" { (PreEscaped(json)) } }
}
