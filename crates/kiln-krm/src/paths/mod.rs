//! Slash-separated paths as text: cleaning, joining, the default path of a resource, and which paths a function must
//! not return.
//!
//! Nothing here reads a file system. A cleaned path may still lead outside a package; writing checks that.

use std::borrow::Cow;
use std::collections::HashSet;

use kiln_go::{quote, to_lower};
use kiln_yaml::NodeRef;

use crate::meta::{self, Meta};

/// The shortest equivalent path, by its text only: no `.`, no doubled or trailing slash, no `..`
/// but at the front of a relative path. The empty path becomes `.`.
pub fn clean(path: &str) -> String {
    cleaned(path).into_owned()
}

/// The same without a copy of a path that is clean already, as most are.
pub(crate) fn cleaned(path: &str) -> Cow<'_, str> {
    match is_clean(path) {
        true => Cow::Borrowed(path),
        false => Cow::Owned(clean_parts(path)),
    }
}

/// Whether a path consists of names only, so that it is its own shortest form.
fn is_clean(path: &str) -> bool {
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    let names = path.strip_prefix('/').unwrap_or(path);
    names.split('/').all(is_name)
}

fn clean_parts(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                _ if rooted => {}
                _ => parts.push(".."),
            },
            _ => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (rooted, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// The parts that are not empty, joined by slashes and cleaned; empty if all are.
pub fn join(parts: &[&str]) -> String {
    let length: usize = parts.iter().map(|part| part.len() + 1).sum();
    let mut joined = String::with_capacity(length);
    for part in parts.iter().filter(|part| !part.is_empty()) {
        if !joined.is_empty() {
            joined.push('/');
        }
        joined.push_str(part);
    }
    match joined.is_empty() || is_clean(&joined) {
        true => joined,
        false => clean_parts(&joined),
    }
}

/// The last component; `.` for the empty path, `/` for one of slashes only.
pub fn base(path: &str) -> &str {
    if path.is_empty() {
        return ".";
    }
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit('/').next() {
        Some(last) if !last.is_empty() => last,
        _ => "/",
    }
}

/// All but the last component, cleaned.
pub fn directory(path: &str) -> String {
    match path.rfind('/') {
        Some(slash) => clean(path.get(..=slash).unwrap_or_default()),
        None => ".".to_owned(),
    }
}

/// The file that a resource without a path is written to: `[dir/][namespace/]kind_name.yaml`, kind in lower case.
pub fn default_path(dir: &str, resource: NodeRef<'_>) -> String {
    let meta = Meta::of(resource);
    let file = format!("{}_{}.yaml", to_lower(meta.kind), meta.name);
    join(&[dir, meta.namespace, &file])
}

/// The directory of resources that a function generates: the directory of its functionConfig, or its parent if it is
/// called `functions`; empty without a functionConfig that has a path.
pub fn generation_directory(function_config_path: &str) -> String {
    if function_config_path.is_empty() {
        return String::new();
    }
    let dir = directory(function_config_path);
    let dir = if base(&dir) == "functions" {
        directory(&dir)
    } else {
        dir
    };
    if dir == "." { String::new() } else { dir }
}

/// Why the paths of a function's output are not acceptable.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PathError {
    /// A resource has neither type nor metadata, so that it cannot have a path.
    #[error("missing Resource metadata")]
    NoMetadata,
    /// A path leads out of the package.
    #[error("function must not modify resources outside of package: resource has path {0}")]
    Outside(String),
    /// Two resources have the same path and index.
    #[error(
        "resource at path {} and index {} already exists",
        quote(path),
        quote(index)
    )]
    Taken {
        /// The cleaned path.
        path: String,
        /// The index as written, or empty.
        index: String,
    },
}

/// Checks the output of a function: all resources are inside their package, and no two have the same package, cleaned
/// path and index.
pub fn check_paths<'a>(resources: impl IntoIterator<Item = NodeRef<'a>>) -> Result<(), PathError> {
    let mut taken = HashSet::new();
    for resource in resources {
        let package = meta::annotation(resource, meta::PACKAGE_PATH);
        // What has an annotation has metadata.
        if package.is_none() && Meta::of(resource).is_missing {
            return Err(PathError::NoMetadata);
        }
        let package = package.unwrap_or_default();
        let (path, index) = meta::file_place(resource);
        let cleaned = cleaned(path);
        if cleaned.starts_with("../") {
            return Err(PathError::Outside(path.to_owned()));
        }
        if let Some((_, path, index)) = taken.replace((package, cleaned, index)) {
            return Err(PathError::Taken {
                path: path.into_owned(),
                index: index.to_owned(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
