//! The pages as HTML: no script, no form, nothing loaded.

mod calls;
mod config;
pub(super) mod functions;
mod overview;
mod pods;

use maud::{DOCTYPE, Markup, html};

use super::model::{ServiceHealth, StatusModel};
use super::request::StatusPage;
use crate::parts::age_text;
use crate::raw;

/// Pages of the navigation: path and name.
const PAGES: [(&str, &str); 6] = [
    ("/", "Overview"),
    ("/functions", "Functions"),
    ("/calls", "Calls"),
    ("/pods", "Pods"),
    ("/replicas", "Replicas"),
    ("/config", "Configuration"),
];

/// A page; `None` if the function, call or pod is not known.
pub(super) fn page(model: &StatusModel, page: &StatusPage, refresh: Option<u32>) -> Option<String> {
    let content = match page {
        StatusPage::Overview => overview::content(model),
        StatusPage::Functions(order) => functions::list(model, *order),
        StatusPage::Function(image) => functions::one(model, image)?,
        StatusPage::Calls => calls::list(model),
        StatusPage::Call(id) => calls::one(model, *id)?,
        StatusPage::Pods => pods::list(model),
        StatusPage::Pod(name) => pods::one(model, name)?,
        StatusPage::Replicas => pods::replicas(model),
        StatusPage::Config => config::content(model),
        StatusPage::Data => return None,
    };
    Some(frame(model, page, refresh, content))
}

/// The page about something that is not known any more.
pub(super) fn not_found_page(model: &StatusModel, page: &StatusPage) -> String {
    let what = match page {
        StatusPage::Function(_) => "No call of this function is known.",
        StatusPage::Call(_) => "This call is not known. Only the last calls are kept.",
        StatusPage::Pod(_) => "There is no such pod, or it is gone.",
        _ => "There is no such page.",
    };
    frame(model, page, None, html! { h2 { "Not found" } p { (what) } })
}

fn frame(model: &StatusModel, page: &StatusPage, refresh: Option<u32>, content: Markup) -> String {
    let (path, name) = section_of(page);
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                @if let Some(seconds) = refresh {
                    meta http-equiv="refresh" content=(seconds);
                }
                title { (name) " – " (model.program) }
                (raw::style())
            }
            body {
                (header(model))
                nav aria-label="Pages" {
                    @for (to, name) in PAGES {
                        a href=(to) aria-current=[(to == path).then_some("page")] { (name) }
                    }
                    a href="/status.json" { "JSON" }
                    @match refresh {
                        Some(_) => a href="?" { "Stop refreshing" },
                        None => a href="?refresh=5" { "Refresh every 5 s" },
                    }
                }
                main { (content) }
            }
        }
    };
    page.into_string()
}

/// The page of the navigation that a page belongs to.
fn section_of(page: &StatusPage) -> (&'static str, &'static str) {
    match page {
        StatusPage::Overview | StatusPage::Data => PAGES[0],
        StatusPage::Functions(_) | StatusPage::Function(_) => PAGES[1],
        StatusPage::Calls | StatusPage::Call(_) => PAGES[2],
        StatusPage::Pods | StatusPage::Pod(_) => PAGES[3],
        StatusPage::Replicas => PAGES[4],
        StatusPage::Config => PAGES[5],
    }
}

fn header(model: &StatusModel) -> Markup {
    let class = match model.health {
        ServiceHealth::Serving => "passed",
        ServiceHealth::NotReady => "failed",
        ServiceHealth::Draining => "differs",
    };
    html! {
        header class=(class) {
            h1 { (model.program) ": " (model.health.word()) }
            p {
                "Version " strong { (model.build) } ", calls at " code { (model.address) } ", up for "
                (age_text(model.uptime_ms)) " since " time datetime=(model.started) { (model.started) }
                ". As of " time datetime=(model.as_of) { (model.as_of) } "."
            }
        }
    }
}

/// A column of a table.
enum TableColumn {
    Text(&'static str),
    Number(&'static str),
}

/// A table that scrolls sideways on narrow screens.
fn table(columns: &[TableColumn], rows: Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="group" aria-label="Table" {
            table {
                thead {
                    tr {
                        @for column in columns {
                            @match column {
                                TableColumn::Text(name) => th scope="col" { (name) },
                                TableColumn::Number(name) => th.number scope="col" { (name) },
                            }
                        }
                    }
                }
                tbody { (rows) }
            }
        }
    }
}

/// A link to the rest of a list, if only a part of it is shown.
fn more(shown: usize, all: usize, link: &str) -> Markup {
    html! {
        @if all > shown {
            p { a href=(link) { "All " (all) } }
        }
    }
}
