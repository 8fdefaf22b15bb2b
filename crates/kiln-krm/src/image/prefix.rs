//! Short names of functions: what has no slash gets the catalog's prefix.

use kiln_go::quote;

/// Where the functions of the catalog are published.
pub const DEFAULT_PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";

/// A text is not a valid prefix of short function names.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("invalid image prefix {}: {problem}", quote(prefix))]
pub struct PrefixError {
    pub prefix: String,
    pub problem: PrefixProblem,
}

/// The problem with an image prefix.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PrefixProblem {
    /// It is a URL.
    #[error("must not include a scheme (e.g. https://)")]
    Scheme,
    /// It has a query or a fragment.
    #[error("must not contain '?' or '#'")]
    Query,
    /// It is not `host[:port][/path]`.
    #[error("must be a valid registry path")]
    NotAPath,
}

/// The image with the prefix before it if it is a short name; an empty prefix changes nothing.
pub fn with_prefix(prefix: &str, image: &str) -> String {
    match prefix.trim_end_matches('/') {
        "" => image.to_owned(),
        _ if image.contains('/') => image.to_owned(),
        prefix => format!("{prefix}/{image}"),
    }
}

/// Checks a prefix before it is used; the empty one is fine.
pub fn check_prefix(prefix: &str) -> Result<(), PrefixError> {
    let fail = |problem| {
        Err(PrefixError {
            prefix: prefix.to_owned(),
            problem,
        })
    };
    if prefix.is_empty() {
        return Ok(());
    }
    let trimmed = prefix.trim_end_matches('/');
    if trimmed.contains("://") {
        return fail(PrefixProblem::Scheme);
    }
    if trimmed.contains(['?', '#']) {
        return fail(PrefixProblem::Query);
    }
    if !is_authority_and_path(trimmed) {
        return fail(PrefixProblem::NotAPath);
    }
    Ok(())
}

/// Whether `https://` before the text makes a URL that Go's parser accepts and that has a host.
fn is_authority_and_path(text: &str) -> bool {
    if text.bytes().any(|b| b.is_ascii_control()) {
        return false;
    }
    let (authority, path) = match text
        .find('/')
        .and_then(|slash| text.split_at_checked(slash))
    {
        Some(parts) => parts,
        None => (text, ""),
    };
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (user, host),
        None => ("", authority),
    };
    escapes_are_complete(path) && is_user(user) && !host.is_empty() && is_host(host)
}

/// Whether every `%` is followed by two hexadecimal digits.
fn escapes_are_complete(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        let mut digits = rest.bytes();
        let mut is_hex = || digits.next().is_some_and(|b| b.is_ascii_hexdigit());
        is_hex() && is_hex()
    })
}

fn is_user(user: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"-._:~!$&'()*+,;=%@".contains(&b);
    user.bytes().all(is_allowed) && escapes_are_complete(user)
}

fn is_host(host: &str) -> bool {
    if !host.starts_with('[') {
        // One colon at most, with a port behind it that may be empty.
        let (name, port) = host.split_once(':').unwrap_or((host, ""));
        return port.bytes().all(|b| b.is_ascii_digit())
            && !name.contains('[')
            && is_host_text(name);
    }
    let Some((address, port)) = host.get(1..).and_then(|rest| rest.rsplit_once(']')) else {
        return false;
    };
    let port_is_fine = match port.strip_prefix(':') {
        Some(port) => port.bytes().all(|b| b.is_ascii_digit()),
        None => port.is_empty(),
    };
    let (address, zone) = match address.split_once("%25") {
        Some((address, zone)) => (address, Some(zone)),
        None => (address, None),
    };
    let is_address = address.parse::<std::net::Ipv6Addr>().is_ok();
    port_is_fine && is_address && zone != Some("")
}

fn is_host_text(host: &str) -> bool {
    let is_allowed = |b: u8| {
        !b.is_ascii() || b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:[]<>\"%".contains(&b)
    };
    // Escapes stand for bytes beyond ASCII only, or for the percent sign.
    let escape_is_allowed = |rest: &str| {
        rest.starts_with("25") || !rest.starts_with(|c: char| ('0'..='7').contains(&c))
    };
    host.bytes().all(is_allowed)
        && escapes_are_complete(host)
        && host.split('%').skip(1).all(escape_is_allowed)
}
