//! The entry of a configuration that matches an image.
//!
//! Docker's keys are hosts or URLs; Kubernetes' keys may also have a path, and `*` in parts of the host. The most specific key
//! wins: the longest path first, a host without `*` before one with it, and among equal keys the spelling that Docker writes.

use crate::reference::{DOCKER_HUB, DOCKER_HUB_NAMES};

/// The index of the most specific matching key.
pub(super) fn best_match<'a>(
    keys: impl Iterator<Item = &'a str>,
    registry: &str,
    repository: &str,
) -> Option<usize> {
    let (host, _) = split(registry);
    let docker_key = docker_key(registry);
    let mut found: Option<((usize, bool, bool), usize)> = None;
    for (index, key) in keys.enumerate() {
        let (pattern, path) = split(key);
        let exact = pattern == host;
        if !(exact || host_matches(&pattern, &host)) || !path_matches(path, repository) {
            continue;
        }
        let rank = (path.len(), exact, key == docker_key);
        if found.is_none_or(|(best, _)| rank > best) {
            found = Some((rank, index));
        }
    }
    found.map(|(_, index)| index)
}

/// The key that Docker writes for a registry.
pub(super) fn docker_key(registry: &str) -> &str {
    match registry {
        DOCKER_HUB => "https://index.docker.io/v1/",
        other => other,
    }
}

/// Host and path of a key, without scheme, protocol version and default port.
fn split(key: &str) -> (String, &str) {
    let key = key.trim();
    let without_scheme = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"))
        .unwrap_or(key);
    let (host, path) = without_scheme
        .split_once('/')
        .unwrap_or((without_scheme, ""));
    let path = path.trim_end_matches('/');
    let path = match path.split_once('/').unwrap_or((path, "")) {
        ("v1" | "v2", rest) => rest,
        _ => path,
    };
    let host = host.to_ascii_lowercase();
    let host = host.strip_suffix(":443").unwrap_or(&host);
    if DOCKER_HUB_NAMES.contains(&host) {
        return (DOCKER_HUB.to_owned(), path);
    }
    (host.to_owned(), path)
}

/// Whether a path is the repository or one of its parents.
fn path_matches(path: &str, repository: &str) -> bool {
    path.is_empty()
        || repository
            .strip_prefix(path)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Matches part by part, so that `*` never spans a dot; ports must be equal.
fn host_matches(pattern: &str, host: &str) -> bool {
    let port = |text: &str| text.split_once(':').map(|(_, port)| port.to_owned());
    let name = |text: &str| text.split(':').next().unwrap_or("").to_owned();
    let (pattern_name, host_name) = (name(pattern), name(host));
    let patterns: Vec<&str> = pattern_name.split('.').collect();
    let parts: Vec<&str> = host_name.split('.').collect();
    pattern.contains('*')
        && port(pattern) == port(host)
        && patterns.len() == parts.len()
        && patterns
            .iter()
            .zip(&parts)
            .all(|(pattern, part)| part_matches(pattern, part))
}

fn part_matches(pattern: &str, part: &str) -> bool {
    let mut pieces = pattern.split('*');
    let Some(mut rest) = pieces.next().and_then(|first| part.strip_prefix(first)) else {
        return false;
    };
    let Some(last) = pieces.next_back() else {
        return rest.is_empty();
    };
    for piece in pieces {
        match rest.split_once(piece) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    rest.ends_with(last)
}
