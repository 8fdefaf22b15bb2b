//! Pods that are made before anybody asks for them.
//!
//! An image is warmed up when it is listed, at the start or later, and again when what is set for it changes. That means
//! one pod where there is none: whether there is one, is coming or may be at all, the machine knows. An image that is not
//! listed any more keeps its pod until that has been without work for long enough.

use std::collections::BTreeMap;

use super::Driver;
use crate::function_config::PodConfig;
use crate::state::{Event, ImageKey};

/// What has been warmed up, and for what settings.
#[derive(Debug)]
pub(super) struct Warmth {
    is_wanted: bool,
    warmed: BTreeMap<ImageKey, PodConfig>,
}

impl Warmth {
    pub(super) fn new(is_wanted: bool) -> Warmth {
        Warmth {
            is_wanted,
            warmed: BTreeMap::new(),
        }
    }

    /// The images to warm up, of all that are listed now.
    fn due(&mut self, listed: BTreeMap<ImageKey, PodConfig>) -> Vec<ImageKey> {
        let is_news = |(image, config): &(&ImageKey, &PodConfig)| {
            self.warmed.get(*image).is_none_or(|known| known != *config)
        };
        let due = listed.iter().filter(is_news);
        let due = due.map(|(image, _)| image.clone()).collect();
        self.warmed = listed;
        due
    }
}

impl Driver {
    /// Has pods made for images that are listed and were not before. Without templates none can be made; it is done when
    /// they come.
    pub(super) fn warm_up(&mut self) {
        let is_possible = self.sight.is_clear()
            && self.ending.is_none()
            && self.plans.templates.current().is_ok();
        if !self.warmth.is_wanted || !is_possible {
            return;
        }
        for image in self.warmth.due(self.plans.listed()) {
            let plan = self.plans.plan(&image);
            self.tell(Event::WarmUp { image, plan });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(entries: &[(&str, Option<usize>)]) -> BTreeMap<ImageKey, PodConfig> {
        let entries = entries.iter().map(|(image, max_parallel_pods)| {
            let mut config = PodConfig::nothing(image);
            config.entry.max_parallel_pods = *max_parallel_pods;
            (ImageKey::new(*image), config)
        });
        entries.collect()
    }

    #[track_caller]
    fn check(warmth: &mut Warmth, entries: &[(&str, Option<usize>)], expected: &[&str]) {
        let due = warmth.due(listed(entries));
        let due: Vec<&str> = due.iter().map(ImageKey::as_str).collect();
        assert_eq!(due, expected);
    }

    #[test]
    fn what_is_new_or_different_is_due_once() {
        let mut warmth = Warmth::new(true);
        check(&mut warmth, &[("a", None), ("b", None)], &["a", "b"]);
        check(&mut warmth, &[("a", None), ("b", None)], &[]);
        check(
            &mut warmth,
            &[("a", None), ("b", Some(2)), ("c", None)],
            &["b", "c"],
        );
        check(&mut warmth, &[("c", None)], &[]);
        // It may have lost its pod while it was not listed.
        check(&mut warmth, &[("a", None), ("c", None)], &["a"]);
    }
}
