//! Ports that are refused.

use std::error::Error as _;
use std::io::{self, ErrorKind};
use std::net::{Ipv6Addr, TcpListener};

use kiln_runtime::EvaluatorChain;
use kiln_server::{Options, Server};

#[expect(clippy::print_stderr, reason = "that a test is skipped must be seen")]
fn skipped() {
    eprintln!("SKIPPED: this machine has no IPv6");
}

/// A port that IPv6 cannot have is not served on IPv4 alone: clients of IPv6 would reach another program.
#[tokio::test]
async fn a_port_in_use_is_refused_even_if_ipv4_has_it() {
    let Ok(other) = TcpListener::bind((Ipv6Addr::LOCALHOST, 0)) else {
        return skipped();
    };
    let port = other.local_addr().unwrap().port();
    let bound = Server::bind_all(port, EvaluatorChain::default(), Options::default()).await;
    let error = bound.err().unwrap();
    assert_eq!(error.to_string(), format!("listen on [::]:{port}"));
    let source = error.source().and_then(|source| source.downcast_ref());
    let kind = source.map(io::Error::kind);
    assert_eq!(kind, Some(ErrorKind::AddrInUse));
}
