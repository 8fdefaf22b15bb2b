//! HTTP proxies from `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.
//!
//! The rules are those of Go's net/http: lower-case variables come first, this machine never gets a proxy, and `NO_PROXY` lists
//! domains with their subdomains, addresses, address ranges, or `*`. Only proxies with an `http` URL are supported.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;

use crate::http::url::UrlOrigin;

/// The proxies of a program; none by default.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proxies {
    https: Option<Proxy>,
    http: Option<Proxy>,
    no_proxy: Vec<NoProxyRule>,
}

/// An HTTP proxy, displayed as its host and port.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// The value of `Proxy-Authorization`.
    pub(crate) authorization: Option<String>,
}

/// A variable that is not the URL of a supported proxy.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{variable} is not the URL of a supported proxy: expected http://[USER:PASSWORD@]HOST[:PORT]"
)]
pub struct ProxyError {
    pub variable: &'static str,
}

/// An entry of `NO_PROXY`.
#[derive(Clone, PartialEq, Eq, Debug)]
enum NoProxyRule {
    All,
    /// A domain with its subdomains, or only the subdomains.
    Domain {
        name: String,
        only_subdomains: bool,
        port: Option<u16>,
    },
    Address {
        address: IpAddr,
        port: Option<u16>,
    },
    Range {
        address: IpAddr,
        bits: u32,
    },
}

impl Proxies {
    /// Reads the proxy variables. `variable` returns the value of a variable; an empty one counts as not set.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Proxies, ProxyError> {
        let get = |lower: &str, upper: &str| {
            let value = variable(lower).filter(|value| !value.trim().is_empty());
            value.or_else(|| variable(upper).filter(|value| !value.trim().is_empty()))
        };
        let proxy = |lower: &str, upper: &'static str| {
            let invalid = || ProxyError { variable: upper };
            let value = get(lower, upper);
            value
                .map(|value| Proxy::parse(value.trim()).ok_or_else(invalid))
                .transpose()
        };
        let no_proxy = get("no_proxy", "NO_PROXY").unwrap_or_default();
        Ok(Proxies {
            https: proxy("https_proxy", "HTTPS_PROXY")?,
            http: proxy("http_proxy", "HTTP_PROXY")?,
            no_proxy: no_proxy.split(',').filter_map(NoProxyRule::parse).collect(),
        })
    }

    /// The proxy for a URL; `None` for a direct connection.
    pub fn to_url(&self, url: &Uri) -> Option<&Proxy> {
        self.for_origin(&UrlOrigin::of(url))
    }

    pub(crate) fn for_origin(&self, origin: &UrlOrigin) -> Option<&Proxy> {
        let proxy = match origin.is_secure() {
            true => self.https.as_ref(),
            false => self.http.as_ref(),
        };
        let host = origin.host();
        let is_this_machine = host == "localhost"
            || host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        let needs_no_proxy = || {
            let mut rules = self.no_proxy.iter();
            is_this_machine || rules.any(|rule| rule.matches(origin))
        };
        proxy.filter(|_| !needs_no_proxy())
    }
}

impl Proxy {
    /// The value of the header `Proxy-Authorization`.
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// Parses the URL of a proxy, with or without a scheme; `None` if it is not supported.
    pub fn parse(text: &str) -> Option<Proxy> {
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some(_) => return None,
            None => text,
        };
        let rest = rest.trim_end_matches('/');
        let (login, authority) = match rest.rsplit_once('@') {
            Some((login, authority)) => (Some(login), authority),
            None => (None, rest),
        };
        let url: Uri = format!("http://{authority}/").parse().ok()?;
        let origin = UrlOrigin::of(&url);
        let is_valid = !origin.host().is_empty() && url.path() == "/";
        is_valid.then(|| Proxy {
            host: origin.host().to_owned(),
            port: origin.port(),
            authorization: login
                .map(|login| format!("Basic {}", STANDARD.encode(percent_decode(login)))),
        })
    }
}

/// Without the password.
impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Proxy({self})")
    }
}

impl fmt::Display for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl NoProxyRule {
    fn parse(text: &str) -> Option<NoProxyRule> {
        let text = text.trim().to_ascii_lowercase();
        if text == "*" {
            return Some(NoProxyRule::All);
        }
        if let Some((address, bits)) = text.split_once('/') {
            let address: IpAddr = address.parse().ok()?;
            let max_bits = if address.is_ipv4() { 32 } else { 128 };
            let bits: u32 = bits.parse().ok().filter(|bits| *bits <= max_bits)?;
            return Some(NoProxyRule::Range { address, bits });
        }
        if let Ok(address) = text.parse() {
            return Some(NoProxyRule::Address {
                address,
                port: None,
            });
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port.parse().ok()?)),
            None => (text.as_str(), None),
        };
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse() {
            return Some(NoProxyRule::Address { address, port });
        }
        let name = host.strip_prefix('*').unwrap_or(host);
        let only_subdomains = name.starts_with('.');
        let name = name.trim_start_matches('.').to_owned();
        (!name.is_empty()).then_some(NoProxyRule::Domain {
            name,
            only_subdomains,
            port,
        })
    }

    fn matches(&self, origin: &UrlOrigin) -> bool {
        let is_port = |port: Option<u16>| port.is_none_or(|port| port == origin.port());
        let address_of_host = origin.host().parse::<IpAddr>().ok();
        match self {
            NoProxyRule::All => true,
            NoProxyRule::Domain {
                name,
                only_subdomains,
                port,
            } => {
                let prefix = origin.host().strip_suffix(name.as_str());
                let is_subdomain = prefix.is_some_and(|prefix| prefix.ends_with('.'));
                let is_domain = prefix == Some("") && !only_subdomains;
                is_port(*port) && (is_subdomain || is_domain)
            }
            NoProxyRule::Address { address, port } => {
                address_of_host == Some(*address) && is_port(*port)
            }
            NoProxyRule::Range { address, bits } => {
                address_of_host.is_some_and(|host| is_within(host, *address, *bits))
            }
        }
    }
}

fn is_within(host: IpAddr, address: IpAddr, bits: u32) -> bool {
    let bits_of = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    let ((host, width), (address, same_width)) = (bits_of(host), bits_of(address));
    let difference = host ^ address;
    width == same_width && (bits == 0 || difference >> (128 - bits) == 0)
}

/// Decodes a username or password of a URL.
fn percent_decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let mut ahead = rest.clone();
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        match (byte, digit(ahead.next()), digit(ahead.next())) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).unwrap_or(b'?'));
                rest = ahead;
            }
            _ => bytes.push(byte),
        }
    }
    bytes
}

#[cfg(test)]
mod tests;
