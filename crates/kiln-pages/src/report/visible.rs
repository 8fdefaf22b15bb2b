//! Makes every text of a report visible.

use super::model::ReportModel;
use crate::visible_text::{escape_texts, has_hidden_text};

/// The model with escapes in place of characters that are not shown or change the direction of text.
pub(super) fn visible(model: ReportModel) -> ReportModel {
    // Reading the model again takes longer than looking for what is rarely there.
    if serde_json::to_string(&model).is_ok_and(|json| !has_hidden_text(&json)) {
        return model;
    }
    let Ok(mut value) = serde_json::to_value(&model) else {
        return model;
    };
    escape_texts(&mut value);
    serde_json::from_value(value).unwrap_or(model)
}
