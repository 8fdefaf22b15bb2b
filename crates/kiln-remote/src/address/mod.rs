//! The address of a runner, as users and Porch's settings write it.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// The address of a runner: `HOST:PORT`, `dns:///HOST:PORT`, `http://…`, `https://…` or `unix:PATH`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Address {
    kind: AddressKind,
    is_https: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum AddressKind {
    /// Host and port.
    Network(String),
    /// The path of a socket.
    Socket(String),
}

/// Why an address is invalid.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{text:?} is not the address of a runner; it is HOST:PORT, https://HOST:PORT or unix:PATH")]
pub struct AddressError {
    text: String,
}

impl Address {
    /// Whether the address itself requires TLS.
    pub fn is_https(&self) -> bool {
        self.is_https
    }

    /// Whether the connection stays on this machine.
    pub(crate) fn is_local(&self) -> bool {
        match &self.kind {
            AddressKind::Socket(_) => true,
            AddressKind::Network(host_port) => {
                let host = host_port.rsplit_once(':').map_or("", |(host, _)| host);
                let host = host.trim_start_matches('[').trim_end_matches(']');
                let is_loopback = |address: IpAddr| address.is_loopback();
                host == "localhost" || host.parse().is_ok_and(is_loopback)
            }
        }
    }

    /// The address as a URI, with or without TLS.
    pub(crate) fn uri(&self, tls: bool) -> String {
        match (&self.kind, tls) {
            (AddressKind::Network(host_port), true) => format!("https://{host_port}"),
            (AddressKind::Network(host_port), false) => format!("http://{host_port}"),
            (AddressKind::Socket(path), _) => format!("unix:{path}"),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            AddressKind::Network(host_port) => write!(f, "tcp {host_port}"),
            AddressKind::Socket(path) => write!(f, "unix {path}"),
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let error = || AddressError {
            text: text.to_owned(),
        };
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return match path {
                "" => Err(error()),
                path => Ok(Address {
                    kind: AddressKind::Socket(path.to_owned()),
                    is_https: false,
                }),
            };
        }
        let is_https = text.starts_with("https://");
        let schemes = ["https://", "http://", "dns:///", "passthrough:///", "dns:"];
        let rest = schemes.iter().find_map(|scheme| text.strip_prefix(scheme));
        let host_port = rest.unwrap_or(text).trim_end_matches('/');
        // `:9445` is this machine, as Go has it.
        let host_port = match host_port.strip_prefix(':') {
            Some(port) => format!("localhost:{port}"),
            None => host_port.to_owned(),
        };
        let (host, port) = host_port.rsplit_once(':').ok_or_else(error)?;
        let port_is_good = port.parse::<u16>().is_ok_and(|port| port != 0);
        let is_in_brackets = host.starts_with('[') && host.ends_with(']');
        let is_bad = |c: char| c.is_whitespace() || c.is_control() || "/@?#\\\"".contains(c);
        let host_is_good = !host.is_empty()
            && !host.contains(is_bad)
            && (is_in_brackets || !host.contains([':', '[', ']']));
        if !port_is_good || !host_is_good {
            return Err(error());
        }
        Ok(Address {
            kind: AddressKind::Network(host_port),
            is_https,
        })
    }
}

#[cfg(test)]
mod tests;
