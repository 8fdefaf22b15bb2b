//! URLs: origins, relative locations, query parameters.

use std::fmt;
use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;

/// Scheme, host and port of a URL.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct UrlOrigin {
    secure: bool,
    host: String,
    port: u16,
}

impl UrlOrigin {
    pub(crate) fn of(url: &Uri) -> UrlOrigin {
        let secure = url.scheme() != Some(&Scheme::HTTP);
        UrlOrigin {
            secure,
            host: url.host().unwrap_or("").to_ascii_lowercase(),
            port: url.port_u16().unwrap_or(if secure { 443 } else { 80 }),
        }
    }

    pub(crate) fn is_secure(&self) -> bool {
        self.secure
    }

    /// The host alone, without brackets.
    pub(crate) fn host(&self) -> &str {
        without_brackets(&self.host)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Whether the host is this machine or in a private network, by its name or address. The same rule as in
    /// go-containerregistry.
    pub(crate) fn is_private(&self) -> bool {
        is_private(&self.host)
    }

    /// Host and port in the syntax of registry names, without the default port.
    pub(crate) fn authority(&self) -> String {
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }
}

impl fmt::Display for UrlOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.authority())
    }
}

fn without_brackets(host: &str) -> &str {
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host)
}

fn is_private(host: &str) -> bool {
    let host = without_brackets(host);
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => address.is_loopback() || address.is_private(),
        Ok(IpAddr::V6(address)) => address.is_loopback(),
        Err(_) => {
            let last = host.rsplit('.').next().unwrap_or(host);
            let is_local = last.eq_ignore_ascii_case("local") && last != host;
            is_local || last.eq_ignore_ascii_case("localhost")
        }
    }
}

/// A URL without its query, for messages: signed redirects have secrets in the query.
pub(crate) fn without_query(url: &Uri) -> String {
    let whole = url.to_string();
    match whole.split_once('?') {
        Some((before, _)) => before.to_owned(),
        None => whole,
    }
}

/// Resolves a `Location` header against a URL. `None` if the result is not an http or https URL with a host.
pub(crate) fn resolve_location(base: &Uri, location: &str) -> Option<Uri> {
    let location = location.split('#').next()?.trim();
    let scheme = base.scheme_str()?;
    let authority = base.authority()?;
    let whole = if location.starts_with("https://") || location.starts_with("http://") {
        location.to_owned()
    } else if let Some(rest) = location.strip_prefix("//") {
        format!("{scheme}://{rest}")
    } else if location.starts_with('/') {
        format!("{scheme}://{authority}{location}")
    } else if location.is_empty() || location.contains("://") {
        return None;
    } else {
        let (directory, _) = base.path().rsplit_once('/')?;
        format!("{scheme}://{authority}{directory}/{location}")
    };
    let url: Uri = whole.parse().ok()?;
    // A URL with a username and password could send them to a host that the server chose.
    let is_valid = url
        .authority()
        .is_some_and(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'));
    is_valid.then_some(url)
}

/// Appends a query parameter to a URL.
pub(crate) fn with_query_parameter(url: &str, name: &str, value: &str) -> String {
    let separator = match url.contains('?') {
        true if url.ends_with(['?', '&']) => "",
        true => "&",
        false => "?",
    };
    format!("{url}{separator}{name}={}", percent_encode(value))
}

/// Percent-encodes a value for a query or a form.
pub(crate) fn percent_encode(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(byte.into());
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests;
