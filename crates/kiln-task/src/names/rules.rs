//! Kubernetes' rules for names, with its messages.

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// A name that breaks rules of Kubernetes, with all of them.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("package revision kubernetes resource name invalid:\n{0}")]
pub struct InvalidName(String);

/// Collects messages.
#[derive(Default)]
pub(super) struct Complaints(String);

impl Complaints {
    pub(super) fn add(&mut self, part: String) {
        self.0 += &format!("{part} invalid\n");
    }

    pub(super) fn add_rule(&mut self, what: &str, name: &str, rule: &str) {
        self.0 += &format!("{what} {name} invalid: {rule}\n");
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn into_result(self) -> Result<(), InvalidName> {
        match self.is_empty() {
            true => Ok(()),
            false => Err(InvalidName(self.0)),
        }
    }
}

pub(super) fn label(name: &str) -> Result<(), String> {
    verdict(name, 63, is_label(name), LABEL)
}

pub(super) fn subdomain(name: &str) -> Result<(), String> {
    verdict(name, 253, name.split('.').all(is_label), SUBDOMAIN)
}

/// A path whose joined segments are one label; it may be empty. Segments that begin or end with a hyphen are refused too, because
/// a ref must not look like an option.
pub(super) fn directory(path: &str) -> Result<(), String> {
    let mut problems = Vec::new();
    if path.contains("//") {
        problems.push("consecutive '/' characters are not allowed".to_owned());
    }
    let together = path.replace('/', "");
    if together.is_empty() {
        return Ok(());
    }
    let segments = path.split('/').filter(|segment| !segment.is_empty());
    let are_labels = segments.clone().all(is_label);
    if let Err(rule) = verdict(&together, 63, are_labels, LABEL) {
        problems.push(rule);
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.join(",")),
    }
}

fn verdict(name: &str, longest: usize, is_good: bool, rule: &str) -> Result<(), String> {
    let mut problems = Vec::new();
    if name.len() > longest {
        problems.push(format!("must be no more than {longest} characters"));
    }
    if !is_good {
        problems.push(rule.to_owned());
    }
    match problems.is_empty() {
        true => Ok(()),
        false => Err(problems.join(",")),
    }
}

fn is_label(text: &str) -> bool {
    let is_alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.first().is_some_and(is_alphanumeric)
        && bytes.last().is_some_and(is_alphanumeric)
        && bytes
            .iter()
            .all(|byte| is_alphanumeric(byte) || *byte == b'-')
}
