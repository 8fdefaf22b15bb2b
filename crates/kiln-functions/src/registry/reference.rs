//! Names and tags of the catalog's images.

/// Where the catalog's images are and were published.
const PREFIXES: &[&str] = &[
    "gcr.io/kpt-fn",
    "gcr.io/kpt-fn-contrib",
    "gcr.io/kpt-fn-demo",
    "ghcr.io/kptdev/krm-functions-catalog",
    "ghcr.io/kptdev/krm-functions-catalog/krm-fn-contrib",
    "ghcr.io/kptdev/krm-functions-catalog/contrib",
    "ghcr.io/kptdev/krm-functions-catalog/archived",
];

/// The function of an image without its tag, if the image belongs to the catalog.
pub(super) fn function_name(image_name: &str) -> Option<&str> {
    match image_name.rsplit_once('/') {
        None => Some(image_name),
        Some((prefix, name)) => PREFIXES.contains(&prefix).then_some(name),
    }
}

/// Whether a tag is a whole version: `v1.2.3`.
pub(super) fn is_version(tag: &str) -> bool {
    numbers(tag).is_some_and(|numbers| numbers.len() == 3)
}

/// The newest version of a line such as `v0.4` or `v0`.
pub(super) fn newest_of_line<'a>(
    versions: impl Iterator<Item = &'a str>,
    line: &str,
) -> Option<&'a str> {
    let line = numbers(line).filter(|line| line.len() < 3)?;
    versions
        .filter_map(|version| Some((numbers(version)?, version)))
        .filter(|(numbers, _)| numbers.starts_with(&line))
        .max()
        .map(|(_, version)| version)
}

/// The numbers of `v1`, `v1.2` or `v1.2.3`, without leading zeros.
fn numbers(tag: &str) -> Option<Vec<u32>> {
    let number = |text: &str| {
        let is_plain = text == "0" || !text.starts_with('0');
        let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|_| is_plain && is_digits)
    };
    let numbers: Option<Vec<u32>> = tag.strip_prefix('v')?.split('.').map(number).collect();
    numbers.filter(|numbers| numbers.len() <= 3)
}
