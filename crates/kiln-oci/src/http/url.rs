//! URLs: whose they are, and where a relative one leads.

use std::fmt;
use std::net::IpAddr;

use http::Uri;
use http::uri::Scheme;

/// Scheme, host and port: who is asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Origin {
    secure: bool,
    host: String,
    port: u16,
}

impl Origin {
    pub(crate) fn of(url: &Uri) -> Origin {
        let secure = url.scheme() != Some(&Scheme::HTTP);
        Origin {
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
        bare(&self.host)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Whether it is this machine or one of the same private network, by its name or address. Go's clients of registries
    /// have the same rule.
    pub(crate) fn is_near(&self) -> bool {
        is_near(&self.host)
    }

    /// Host and port as a registry is named, the port only if it is unusual.
    pub(crate) fn authority(&self) -> String {
        match (self.secure, self.port) {
            (true, 443) | (false, 80) => self.host.clone(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.authority())
    }
}

fn bare(host: &str) -> &str {
    let inner = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    inner.unwrap_or(host)
}

fn is_near(host: &str) -> bool {
    let host = bare(host);
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

/// A URL without what may be a secret: signed redirects carry theirs in the query.
pub(crate) fn shown(url: &Uri) -> String {
    let whole = url.to_string();
    match whole.split_once('?') {
        Some((before, _)) => before.to_owned(),
        None => whole,
    }
}

/// Where a `Location` leads from a URL. None if that is no http or https URL with a host.
pub(crate) fn resolve(base: &Uri, location: &str) -> Option<Uri> {
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
    // Nobody's name and password belong into a URL that somebody else chose.
    let named = url
        .authority()
        .is_some_and(|authority| !authority.host().is_empty() && !authority.as_str().contains('@'));
    named.then_some(url)
}

/// A URL with another parameter.
pub(crate) fn with_parameter(url: &str, name: &str, value: &str) -> String {
    let joint = match url.contains('?') {
        true if url.ends_with(['?', '&']) => "",
        true => "&",
        false => "?",
    };
    format!("{url}{joint}{name}={}", encode(value))
}

/// What may stand in a query or a form.
pub(crate) fn encode(value: &str) -> String {
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
