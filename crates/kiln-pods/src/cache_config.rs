//! The file of `--pod-cache-config`: settings per image, and which images are made ready at start.
//!
//! Two forms are known: a list of entries with settings, and Porch's older mapping of images to how long their pods live.

use std::time::Duration;

use kiln_goflag::GoDuration;
use serde::Deserialize;
use serde_json::Value;

use crate::overrides::Resources;

/// What is set for one image; what is not given is as the flags have it.
#[derive(Clone, PartialEq, Debug)]
pub struct CacheEntry {
    /// The image as it is written; it may be a short name.
    pub image: String,
    /// How long its pods live unused.
    pub time_to_live: Option<Duration>,
    /// How many evaluations a pod has before another is made.
    pub max_waitlist_length: Option<usize>,
    /// How many pods there may be.
    pub max_parallel_pods: Option<usize>,
    /// What the container of the function gets of its node.
    pub resources: Option<Resources>,
}

/// Reads the file; the error names what is wrong with which entry.
pub fn parse(text: &str) -> Result<Vec<CacheEntry>, String> {
    let entries = match crate::yaml::read(text)? {
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
                "it is neither a list of images with settings nor a mapping of images to how long their pods live"
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

/// An entry as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Listed {
    name: String,
    time_to_live: Option<String>,
    max_waitlist_length: Option<i64>,
    max_parallel_pods_per_function: Option<i64>,
    resources: Option<Resources>,
}

fn listed(index: usize, item: Value) -> Result<CacheEntry, String> {
    let name = crate::template::name_of(&item).map(str::to_owned);
    let place = match &name {
        Some(name) => format!("entry {index} ({name})"),
        None => format!("entry {index}"),
    };
    let wrong = |reason: String| format!("{place}: {reason}");
    let entry: Listed = serde_json::from_value(item).map_err(|error| wrong(error.to_string()))?;
    if entry.name.trim().is_empty() {
        return Err(wrong("it has no name".to_owned()));
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

/// A duration as Go writes it that is more than nothing.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration: GoDuration = text.parse().map_err(|error| format!("{error}"))?;
    match duration.to_std() {
        Some(duration) if !duration.is_zero() => Ok(duration),
        _ => Err(format!("{text:?} is not a time that pods could live")),
    }
}

/// Numbers that are not positive mean that nothing is set, as with flags.
pub(crate) fn positive(number: Option<i64>) -> Option<usize> {
    let number = usize::try_from(number?).ok()?;
    (number > 0).then_some(number)
}

#[cfg(test)]
mod tests;
