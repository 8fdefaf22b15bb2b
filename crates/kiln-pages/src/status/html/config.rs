//! The configuration in force.

use maud::{Markup, html};

use super::super::model::{SettingStatus, StatusModel};
use super::{TableColumn, table};
use crate::parts::section;

pub(super) fn content(model: &StatusModel) -> Markup {
    let (changed, defaults): (Vec<&SettingStatus>, Vec<&SettingStatus>) = model
        .settings
        .iter()
        .partition(|setting| setting.is_changed());
    html! {
        h2 { "Configuration" }
        p { "Evaluators in their order: " (model.evaluators.join(", ")) "." }
        (section("changed", "Flags that differ from their default", true, settings(&changed)))
        (section("defaults", "Other flags", false, settings(&defaults)))
        @if !model.sandbox.is_empty() {
            (section("sandbox", "Sandbox of executables", true, html! {
                ul { @for measure in &model.sandbox { li { (measure) } } }
            }))
        }
    }
}

fn settings(settings: &[&SettingStatus]) -> Markup {
    if settings.is_empty() {
        return html! { p { "None." } };
    }
    let columns = [
        TableColumn::Text("Flag"),
        TableColumn::Text("Value"),
        TableColumn::Text("Default"),
    ];
    let rows = html! {
        @for setting in settings {
            tr {
                th scope="row" { code { "--" (setting.flag) } }
                td { code { (setting.value) } }
                td { code { (setting.default) } }
            }
        }
    };
    table(&columns, rows)
}
