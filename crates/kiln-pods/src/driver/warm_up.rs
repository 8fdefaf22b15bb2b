//! Warm-up: pods that are created before the first request.
//!
//! An image is warmed up when it is listed in the pod cache config or a FunctionConfig, and again when its settings
//! change. The state machine then creates a pod if there is none. An image that is no longer listed keeps its pod for
//! its time to live. An image that this process runs without a pod gets none.

use std::collections::BTreeMap;

use super::Driver;
use crate::config::function_config::PodConfig;
use crate::pool::{ImageKey, PoolEvent};

/// The images that have been warmed up, and the settings they had.
#[derive(Debug)]
pub(super) struct WarmUp {
    enabled: bool,
    warmed_up: BTreeMap<ImageKey, PodConfig>,
}

impl WarmUp {
    pub(super) fn new(enabled: bool) -> WarmUp {
        WarmUp {
            enabled,
            warmed_up: BTreeMap::new(),
        }
    }

    /// The listed images that need a warm-up.
    fn due(&mut self, listed: BTreeMap<ImageKey, PodConfig>) -> Vec<ImageKey> {
        let is_new_or_changed = |(image, config): &(&ImageKey, &PodConfig)| {
            self.warmed_up
                .get(*image)
                .is_none_or(|known| known != *config)
        };
        let due = listed.iter().filter(is_new_or_changed);
        let due = due.map(|(image, _)| image.clone()).collect();
        self.warmed_up = listed;
        due
    }
}

impl Driver {
    /// Warms up images that are new or have changed. Without templates no pod can be created; the warm-up follows when
    /// they appear.
    pub(super) fn warm_up(&mut self) {
        let is_possible = self.watch_health.is_synced()
            && self.drained.is_none()
            && self.tasks.specs.templates.current().is_ok();
        if !self.warm_up.enabled || !is_possible {
            return;
        }
        let local_executors = &self.tasks.writer.local_executors;
        let runs_locally = |image: &str| local_executors.runs(image);
        let listed = self.tasks.specs.warm_up_images(runs_locally);
        for image in self.warm_up.due(listed) {
            let spec = self.tasks.specs.spec(&image);
            self.handle_event(PoolEvent::WarmUp { image, spec });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(entries: &[(&str, Option<usize>)]) -> BTreeMap<ImageKey, PodConfig> {
        let entries = entries.iter().map(|(image, max_parallel_pods)| {
            let mut config = PodConfig::empty(image);
            config.entry.max_parallel_pods = *max_parallel_pods;
            (ImageKey::new(*image), config)
        });
        entries.collect()
    }

    #[track_caller]
    fn check(warm_up: &mut WarmUp, entries: &[(&str, Option<usize>)], expected: &[&str]) {
        let due = warm_up.due(listed(entries));
        let due: Vec<&str> = due.iter().map(ImageKey::as_str).collect();
        assert_eq!(due, expected);
    }

    #[test]
    fn new_and_changed_images_are_due_once() {
        let mut warm_up = WarmUp::new(true);
        check(&mut warm_up, &[("a", None), ("b", None)], &["a", "b"]);
        check(&mut warm_up, &[("a", None), ("b", None)], &[]);
        check(
            &mut warm_up,
            &[("a", None), ("b", Some(2)), ("c", None)],
            &["b", "c"],
        );
        check(&mut warm_up, &[("c", None)], &[]);
        // It may have lost its pod while it was not listed.
        check(&mut warm_up, &[("a", None), ("c", None)], &["a"]);
    }
}
