//! The file of `--pod-cache-config`: settings per image, and which images are warmed up.
//!
//! Two forms are supported: a list of entries with settings, and Porch's older mapping of images to their time to live.

use std::time::Duration;

use kiln_go::GoDuration;
use serde::Deserialize;
use serde_json::Value;

use crate::config::overrides::Resources;

/// The settings of one image; the flags apply where a setting is missing.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct CacheEntry {
    /// The image as written in the file; may be a short name.
    pub(crate) image: String,
    /// How long a pod without calls is kept.
    pub(crate) time_to_live: Option<Duration>,
    /// Number of calls of a pod at which another pod is created.
    pub(crate) max_waitlist_length: Option<usize>,
    /// Maximum number of pods.
    pub(crate) max_parallel_pods: Option<usize>,
    /// Resources of the function container.
    pub(crate) resources: Option<Resources>,
}

/// Parses the file; the error names the entry.
pub(crate) fn parse(text: &str) -> Result<Vec<CacheEntry>, String> {
    let entries = match crate::config::read_yaml(text)? {
        Value::Null => Vec::new(),
        Value::Array(items) => {
            let entries = items.into_iter().enumerate();
            let entries = entries.map(|(index, item)| listed(index, item));
            entries.collect::<Result<Vec<_>, _>>()?
        }
        Value::Object(map) => {
            let entries = map.into_iter().map(|(image, ttl)| mapped(image, &ttl));
            entries.collect::<Result<Vec<_>, _>>()?
        }
        _ => {
            return Err(
                "neither a list of images with settings nor a mapping of images to durations"
                    .to_owned(),
            );
        }
    };
    let mut images: Vec<&str> = entries.iter().map(|entry| entry.image.as_str()).collect();
    images.sort_unstable();
    let twice = images
        .iter()
        .zip(images.iter().skip(1))
        .find(|(one, next)| one == next);
    match twice {
        Some((image, _)) => Err(format!("image {image:?} is listed more than once")),
        None => Ok(entries),
    }
}

/// An entry of the list form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListedEntry {
    name: String,
    time_to_live: Option<String>,
    max_waitlist_length: Option<i64>,
    max_parallel_pods_per_function: Option<i64>,
    resources: Option<Resources>,
}

fn listed(index: usize, item: Value) -> Result<CacheEntry, String> {
    let name = crate::config::template::name_of(&item).map(str::to_owned);
    let context = match &name {
        Some(name) => format!("entry {index} ({name})"),
        None => format!("entry {index}"),
    };
    let wrong = |reason: String| format!("{context}: {reason}");
    let entry: ListedEntry =
        serde_json::from_value(item).map_err(|error| wrong(error.to_string()))?;
    if entry.name.trim().is_empty() {
        return Err(wrong("the name is empty".to_owned()));
    }
    let ttl = match entry.time_to_live.as_deref() {
        None | Some("") => None,
        Some(text) => Some(duration(text).map_err(wrong)?),
    };
    Ok(CacheEntry {
        image: entry.name,
        time_to_live: ttl,
        max_waitlist_length: positive(entry.max_waitlist_length),
        max_parallel_pods: positive(entry.max_parallel_pods_per_function),
        resources: entry.resources,
    })
}

fn mapped(image: String, ttl: &Value) -> Result<CacheEntry, String> {
    let text = match ttl {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let ttl = duration(&text).map_err(|reason| format!("{image}: {reason}"))?;
    Ok(CacheEntry {
        image,
        time_to_live: Some(ttl),
        max_waitlist_length: None,
        max_parallel_pods: None,
        resources: None,
    })
}

/// Parses a positive duration in Go's syntax.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration: GoDuration = text.parse().map_err(|error| format!("{error}"))?;
    match duration.to_std() {
        Some(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(format!("{text:?} is not a positive duration")),
    }
}

/// Numbers below one count as not set, as in flags.
pub(crate) fn positive(number: Option<i64>) -> Option<usize> {
    let number = usize::try_from(number?).ok()?;
    (number > 0).then_some(number)
}

#[cfg(test)]
mod tests;
