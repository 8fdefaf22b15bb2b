//! Makes every text of a report visible.

use super::model::ReportModel;
use crate::visible_text::escape_texts;

/// The model with escapes in place of characters that are not shown or change the direction of text.
pub(super) fn visible(model: ReportModel) -> ReportModel {
    let Ok(mut value) = serde_json::to_value(&model) else {
        return model;
    };
    escape_texts(&mut value);
    serde_json::from_value(value).unwrap_or(model)
}
