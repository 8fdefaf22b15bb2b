//! The flags of the status page.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use kiln_go::{FlagSet, Key, Parsed};

use super::Flavour;
use crate::config::StatusConfig;

pub(super) struct StatusFlags {
    address: Key<String>,
    show_messages: Key<bool>,
}

/// An address, also as Go's programs take it: `:PORT` for all addresses of this machine, and `localhost:PORT`.
fn socket_address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.rsplit_once(':')?;
    let address = match host {
        "" => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        host if host.eq_ignore_ascii_case("localhost") => IpAddr::V4(Ipv4Addr::LOCALHOST),
        _ => return text.parse().ok(),
    };
    Some(SocketAddr::new(address, port.parse().ok()?))
}

impl StatusFlags {
    /// On one's own machine the page is on. In a cluster it is off, and so are messages, because they may contain parts of lists.
    pub(super) fn new(set: &mut FlagSet, flavour: Flavour) -> StatusFlags {
        let (address, show_messages) = match flavour {
            Flavour::FunctionRunner => ("", false),
            Flavour::Serve => ("127.0.0.1:9447", true),
        };
        StatusFlags {
            address: set.text(
                "status-address",
                address,
                "The `IP:PORT` of the status page; no page if empty",
            ),
            show_messages: set.add(
                "status-show-messages",
                show_messages,
                "Show the messages of failed calls on the status page; they may contain parts of resources",
            ),
        }
    }

    pub(super) fn config(&self, parsed: &Parsed) -> Result<Option<StatusConfig>, String> {
        let text = parsed.get(self.address);
        if text.is_empty() {
            return Ok(None);
        }
        let address = socket_address(&text).ok_or_else(|| {
            format!(
                "--status-address {text:?} is not an IP address and a port, such as 127.0.0.1:9447"
            )
        })?;
        Ok(Some(StatusConfig {
            address,
            is_chosen: parsed.is_given(self.address),
            shows_messages: parsed.get(self.show_messages),
        }))
    }
}
