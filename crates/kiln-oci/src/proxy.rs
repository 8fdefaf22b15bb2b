//! Proxies on the way to registries, as `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY` name them everywhere.
//!
//! The rules are those of Go's programs: names in small letters go first, this machine is never asked by way of a proxy, and
//! what `NO_PROXY` lists is a name with everything below it, an address, a range of addresses, or `*`. Only proxies that are
//! themselves spoken to in clear are known.

use std::fmt;
use std::net::IpAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Uri;

use crate::http::url::Origin;

/// Which proxy leads to whom. By default none does.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Proxies {
    secure: Option<Proxy>,
    plain: Option<Proxy>,
    exceptions: Vec<Exception>,
}

/// Somebody who passes connections on. Printed, it is its host and port.
#[derive(Clone, PartialEq, Eq)]
pub struct Proxy {
    pub(crate) host: String,
    pub(crate) port: u16,
    /// What it is shown, as the value of a header.
    pub(crate) authorization: Option<String>,
}

/// A variable does not name a proxy that is known how to talk to.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error(
    "{variable} names no proxy that can be used: it has to be http://[USER:PASSWORD@]HOST[:PORT]"
)]
pub struct ProxyError {
    /// Which.
    pub variable: &'static str,
}

/// Who is asked without a proxy.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Exception {
    All,
    /// A name, with or without itself, and a port if only that is meant.
    Name {
        name: String,
        only_below: bool,
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
    /// What variables say; those that are not set, or empty, say nothing.
    pub fn from_variables(
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Proxies, ProxyError> {
        let get = |small: &str, large: &str| {
            let value = variable(small).filter(|value| !value.trim().is_empty());
            value.or_else(|| variable(large).filter(|value| !value.trim().is_empty()))
        };
        let proxy = |small: &str, large: &'static str| {
            let wrong = || ProxyError { variable: large };
            let value = get(small, large);
            value
                .map(|value| Proxy::parse(value.trim()).ok_or_else(wrong))
                .transpose()
        };
        let exceptions = get("no_proxy", "NO_PROXY").unwrap_or_default();
        Ok(Proxies {
            secure: proxy("https_proxy", "HTTPS_PROXY")?,
            plain: proxy("http_proxy", "HTTP_PROXY")?,
            exceptions: exceptions.split(',').filter_map(Exception::parse).collect(),
        })
    }

    /// The proxy by way of which a server is asked; none if it is asked directly.
    pub fn to_url(&self, url: &Uri) -> Option<&Proxy> {
        self.to(&Origin::of(url))
    }

    /// The proxy by way of which somebody is asked.
    pub(crate) fn to(&self, origin: &Origin) -> Option<&Proxy> {
        let proxy = match origin.is_secure() {
            true => self.secure.as_ref(),
            false => self.plain.as_ref(),
        };
        let host = origin.host();
        let is_here = host == "localhost"
            || host
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback());
        let is_excepted = || {
            let mut exceptions = self.exceptions.iter();
            is_here || exceptions.any(|exception| exception.means(origin))
        };
        proxy.filter(|_| !is_excepted())
    }
}

impl Proxy {
    /// What it is shown, as the value of the header `Proxy-Authorization`.
    pub fn authorization(&self) -> Option<&str> {
        self.authorization.as_deref()
    }

    /// A proxy by its URL, with or without a scheme; none if it is not spoken to in clear.
    pub fn parse(text: &str) -> Option<Proxy> {
        let rest = match text.split_once("://") {
            Some(("http", rest)) => rest,
            Some(_) => return None,
            None => text,
        };
        let rest = rest.trim_end_matches('/');
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => (Some(login), place),
            None => (None, rest),
        };
        let url: Uri = format!("http://{place}/").parse().ok()?;
        let origin = Origin::of(&url);
        let is_place = !origin.host().is_empty() && url.path() == "/";
        is_place.then(|| Proxy {
            host: origin.host().to_owned(),
            port: origin.port(),
            authorization: login
                .map(|login| format!("Basic {}", STANDARD.encode(unescaped(login)))),
        })
    }
}

/// A password is nobody's business.
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

impl Exception {
    fn parse(text: &str) -> Option<Exception> {
        let text = text.trim().to_ascii_lowercase();
        if text == "*" {
            return Some(Exception::All);
        }
        if let Some((address, bits)) = text.split_once('/') {
            let address: IpAddr = address.parse().ok()?;
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits: u32 = bits.parse().ok().filter(|bits| *bits <= most)?;
            return Some(Exception::Range { address, bits });
        }
        if let Ok(address) = text.parse() {
            return Some(Exception::Address {
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
            return Some(Exception::Address { address, port });
        }
        let name = host.strip_prefix('*').unwrap_or(host);
        let only_below = name.starts_with('.');
        let name = name.trim_start_matches('.').to_owned();
        (!name.is_empty()).then_some(Exception::Name {
            name,
            only_below,
            port,
        })
    }

    fn means(&self, origin: &Origin) -> bool {
        let is_port = |port: Option<u16>| port.is_none_or(|port| port == origin.port());
        let asked = origin.host().parse::<IpAddr>().ok();
        match self {
            Exception::All => true,
            Exception::Name {
                name,
                only_below,
                port,
            } => {
                let above = origin.host().strip_suffix(name.as_str());
                let is_below = above.is_some_and(|above| above.ends_with('.'));
                let is_it = above == Some("") && !only_below;
                is_port(*port) && (is_below || is_it)
            }
            Exception::Address { address, port } => asked == Some(*address) && is_port(*port),
            Exception::Range { address, bits } => {
                asked.is_some_and(|asked| is_within(asked, *address, *bits))
            }
        }
    }
}

fn is_within(asked: IpAddr, address: IpAddr, bits: u32) -> bool {
    let of = |address: IpAddr| match address {
        IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
        IpAddr::V6(address) => (u128::from(address), 128),
    };
    let ((asked, width), (address, same_width)) = (of(asked), of(address));
    let differ = asked ^ address;
    width == same_width && (bits == 0 || differ >> (128 - bits) == 0)
}

/// A name or password as it was before it was put into a URL.
fn unescaped(text: &str) -> Vec<u8> {
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
