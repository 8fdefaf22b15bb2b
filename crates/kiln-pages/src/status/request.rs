//! Requests for pages, and the replies.

use super::html;
use super::html::functions::FunctionOrder;
use super::model::StatusModel;
use crate::raw;
use crate::report::json_text;

/// The page that a request is for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum StatusPage {
    Overview,
    Functions(FunctionOrder),
    /// The image.
    Function(String),
    Calls,
    Call(u64),
    Pods,
    /// The name of the pod.
    Pod(String),
    Replicas,
    Config,
    Data,
}

/// A request for a page that exists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusRequest {
    page: StatusPage,
    /// After how many seconds the browser loads the page again.
    refresh: Option<u32>,
}

/// What to send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StatusReply {
    /// The HTTP status code.
    pub code: u16,
    pub content_type: &'static str,
    pub body: String,
}

pub(super) const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json";

/// Seconds between two loads of a page.
const REFRESH: std::ops::RangeInclusive<u32> = 1..=3_600;

/// The headers of every reply: nothing is loaded, framed, stored or passed on.
pub fn page_headers() -> Vec<(&'static str, String)> {
    let policy = format!(
        "default-src 'none'; style-src {}; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        raw::style_source()
    );
    vec![
        ("content-security-policy", policy),
        ("x-content-type-options", "nosniff".to_owned()),
        ("referrer-policy", "no-referrer".to_owned()),
        ("cache-control", "no-store".to_owned()),
    ]
}

impl StatusRequest {
    /// The request with this path and query; `None` if there is no such page.
    pub fn parse(path: &str, query: &str) -> Option<StatusRequest> {
        let segments: Vec<&str> = path.strip_prefix('/')?.split('/').collect();
        let page = match segments[..] {
            [""] => StatusPage::Overview,
            ["functions"] => StatusPage::Functions(FunctionOrder::of(query_value(query, "sort"))),
            ["functions", name] => StatusPage::Function(decoded(name)?),
            ["calls"] => StatusPage::Calls,
            ["calls", id] => StatusPage::Call(id.parse().ok()?),
            ["pods"] => StatusPage::Pods,
            ["pods", name] => StatusPage::Pod(decoded(name)?),
            ["replicas"] => StatusPage::Replicas,
            ["config"] => StatusPage::Config,
            ["status.json"] => StatusPage::Data,
            _ => return None,
        };
        let refresh = query_value(query, "refresh").and_then(|value| value.parse().ok());
        Some(StatusRequest {
            page,
            refresh: refresh.filter(|seconds| REFRESH.contains(seconds)),
        })
    }

    /// The page, or a page that says that the function, call or pod is not known any more.
    pub fn reply(&self, model: &StatusModel) -> StatusReply {
        if self.page == StatusPage::Data {
            return StatusReply {
                code: 200,
                content_type: JSON,
                body: json_text(model),
            };
        }
        let (code, body) = match html::page(model, &self.page, self.refresh) {
            Some(body) => (200, body),
            None => (404, html::not_found_page(model, &self.page)),
        };
        StatusReply {
            code,
            content_type: HTML,
            body,
        }
    }
}

/// The value of a parameter. None of them has a value with special characters.
fn query_value<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find_map(|(key, value)| (key == name).then_some(value))
}

/// A name as one segment of a path. Every character that could end it, or be resolved by a browser, is encoded.
pub(super) fn encoded(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' | b'@' => {
                out.push(char::from(byte));
            }
            byte => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// The name in a segment; `None` if it is not valid.
fn decoded(segment: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        match first {
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                let digits = std::str::from_utf8(digits).ok()?;
                bytes.push(u8::from_str_radix(digits, 16).ok()?);
                rest = after;
            }
            byte => bytes.push(*byte),
        }
    }
    let name = String::from_utf8(bytes).ok()?;
    Some(name).filter(|name| !name.is_empty())
}
