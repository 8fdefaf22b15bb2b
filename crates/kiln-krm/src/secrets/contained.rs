//! The values inside of a value: in structures, in files of settings, in addresses.

use kiln_yaml::parse_until_error;

/// What several settings in one line have between them.
const BETWEEN_SETTINGS: [char; 6] = [';', '&', '?', ',', ' ', '\t'];

/// What cannot be in an address before its path, unless it is escaped.
const ENDS_OF_AUTHORITY: [char; 8] = ['/', '?', '#', '"', '\'', '<', '>', '`'];

/// The values inside of a text. A value inside of one of them is not found.
pub(super) fn contained_values(text: &str) -> Vec<String> {
    let mut values = structure_values(text);
    for line in text.lines() {
        let found = setting_values(line).into_iter();
        values.extend(found.map(str::to_owned));
        values.extend(address_credentials(line));
    }
    // YAML takes such a text for an alias, and an error quotes its name.
    values.extend(text.strip_prefix('*').map(str::to_owned));
    values.retain(|value| value != text);
    values
}

/// The values of a structure in JSON or YAML.
fn structure_values(text: &str) -> Vec<String> {
    // Most values are one word, which is not parsed.
    if !text.contains([':', '[', '-']) {
        return Vec::new();
    }
    let (documents, _) = parse_until_error(text.as_bytes());
    let mut values = Vec::new();
    for document in &documents {
        let mut pending = vec![document.root()];
        while let Some(node) = pending.pop() {
            pending.extend(node.entries().map(|(_, value)| value));
            pending.extend(node.items());
            if node.is_scalar() {
                values.push(node.value().to_owned());
            }
        }
    }
    values
}

/// The values of `KEY=VALUE`: one in a line as in `.env`, `.properties` and INI files, or several as in connection strings.
fn setting_values(line: &str) -> Vec<&str> {
    let mut values = Vec::new();
    if !line.contains(['=', ':']) {
        return values;
    }
    let line = line.trim().trim_start_matches(['#', ';']).trim_start();
    let whole = line.strip_prefix("export ").unwrap_or(line);
    for separator in ["=", ": "] {
        values.extend(setting_value(whole, separator));
    }
    let parts = line.split(BETWEEN_SETTINGS);
    values.extend(parts.filter_map(|part| setting_value(part, "=")));
    let unquoted: Vec<&str> = values.iter().filter_map(|value| unquoted(value)).collect();
    values.extend(unquoted);
    values
}

fn setting_value<'a>(text: &'a str, separator: &str) -> Option<&'a str> {
    let (key, value) = text.split_once(separator)?;
    let is_key = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let key = key.trim();
    (!key.is_empty() && key.chars().all(is_key)).then(|| value.trim())
}

/// The value without quotes, and without a comment behind it.
fn unquoted(value: &str) -> Option<&str> {
    let quote = value.chars().next()?;
    if matches!(quote, '"' | '\'' | '`') {
        return value.get(1..)?.split(quote).next();
    }
    let comment = value.find(" #").or_else(|| value.find(" ;"));
    comment.and_then(|at| value.get(..at)).map(str::trim)
}

/// What stands before the host in each `scheme://user:password@host`: the password, or a user without one, which is a token; and
/// both, which programs encode.
fn address_credentials(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    for rest in line.split("://").skip(1) {
        let ends = |c: char| ENDS_OF_AUTHORITY.contains(&c) || c.is_whitespace();
        let authority = rest.split(ends).next().unwrap_or_default();
        let Some((credentials, _)) = authority.rsplit_once('@') else {
            continue;
        };
        let secret = credentials.split_once(':');
        let secret = secret.map_or(credentials, |(_, password)| password);
        for text in [credentials, secret] {
            found.extend([text.to_owned(), percent_decoded(text)]);
        }
    }
    found
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after
            .get(..2)
            .and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped.filter(|_| byte == b'%') {
            Some(escaped) => {
                bytes.push(escaped);
                rest = after.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
