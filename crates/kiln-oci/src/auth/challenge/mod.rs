//! Challenges of `WWW-Authenticate` headers.

use http::{HeaderMap, header};

/// A supported authentication scheme.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Challenge {
    /// A token from the token server at `realm`.
    Bearer {
        realm: String,
        service: String,
        scope: String,
    },
    Basic,
}

impl Challenge {
    /// The preferred challenge: `Bearer` before `Basic`. `None` if no scheme is supported.
    pub(crate) fn best(headers: &HeaderMap) -> Option<Challenge> {
        let mut best = None;
        for value in headers.get_all(header::WWW_AUTHENTICATE) {
            for (scheme, parameters) in parse(value.to_str().unwrap_or("")) {
                let get = |name: &str| {
                    let found = parameters.iter().find(|(key, _)| key == name);
                    found.map_or(String::new(), |(_, value)| value.clone())
                };
                if scheme == "bearer" && !get("realm").is_empty() {
                    return Some(Challenge::Bearer {
                        realm: get("realm"),
                        service: get("service"),
                        scope: get("scope"),
                    });
                }
                if scheme == "basic" {
                    best = Some(Challenge::Basic);
                }
            }
        }
        best
    }
}

type Parameters = Vec<(String, String)>;

/// Schemes and their parameters, names in lower case. A word without `=` starts a scheme.
fn parse(text: &str) -> Vec<(String, Parameters)> {
    let mut schemes: Vec<(String, Parameters)> = Vec::new();
    let mut rest = text.trim_start_matches([' ', '\t', ',']);
    while !rest.is_empty() {
        let end = rest.find([' ', '\t', ',', '=']).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let after = after.trim_start_matches([' ', '\t']);
        if let Some(after) = after.strip_prefix('=') {
            let (value, after) = value(after.trim_start_matches([' ', '\t']));
            if let Some((_, parameters)) = schemes.last_mut() {
                parameters.push((word.to_ascii_lowercase(), value));
            }
            rest = after;
        } else {
            schemes.push((word.to_ascii_lowercase(), Vec::new()));
            rest = after;
        }
        rest = rest.trim_start_matches([' ', '\t', ',']);
    }
    schemes
}

/// A value, quoted or not, and the text after it.
fn value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([' ', '\t', ',']).unwrap_or(text.len());
        let (value, rest) = text.split_at(end);
        return (value.to_owned(), rest);
    };
    let mut value = String::new();
    let mut chars = quoted.chars();
    while let Some(c) = chars.next() {
        match c {
            '"' => break,
            '\\' => value.extend(chars.next()),
            c => value.push(c),
        }
    }
    (value, chars.as_str())
}

#[cfg(test)]
mod tests;
