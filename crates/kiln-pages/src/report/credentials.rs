//! User names and passwords in addresses.

use kiln_krm::secrets::MASKED;

/// What cannot be in an address before its path, unless it is escaped.
const ENDS: [char; 6] = ['/', '"', '\'', '<', '>', '`'];

/// Replaces the user and the password of each `scheme://user:password@host`. A user of SSH is a part of the address, and stays.
pub(super) fn mask_credentials(text: &mut String) {
    if !text.contains("://") {
        return;
    }
    let mut masked = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("://") {
        masked.push_str(before);
        masked.push_str("://");
        let end = after.find(|c: char| ENDS.contains(&c) || c.is_whitespace());
        let (authority, tail) = after.split_at(end.unwrap_or(after.len()));
        match authority.rsplit_once('@') {
            None => masked.push_str(authority),
            Some((user, host)) => {
                match user.split_once(':') {
                    None if before.ends_with("ssh") => masked.push_str(user),
                    Some((name, _)) if before.ends_with("ssh") => {
                        masked.push_str(&format!("{name}:{MASKED}"));
                    }
                    _ => masked.push_str(MASKED),
                }
                masked.push('@');
                masked.push_str(host);
            }
        }
        rest = tail;
    }
    masked.push_str(rest);
    *text = masked;
}
