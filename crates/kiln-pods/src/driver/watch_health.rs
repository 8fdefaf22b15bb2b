//! The health of the watches.

/// The kinds whose state is tracked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum WatchedKind {
    Pods,
    Services,
    Slices,
    Leases,
    ConfigMap,
    PodTemplate,
    ServiceTemplate,
    Configs,
    /// Not a watch: the renewals show whether the API server answers.
    OwnLease,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum WatchState {
    /// Nothing has been listed yet.
    Unsynced,
    Synced,
    /// The watch is broken, for this reason.
    Interrupted(String),
    /// The cluster has no such kind, or access is forbidden.
    Unavailable,
}

/// The states of all watches.
#[derive(Debug)]
pub(super) struct WatchHealth {
    states: Vec<(WatchedKind, WatchState)>,
    was_synced: bool,
}

impl WatchHealth {
    pub(super) fn new(kinds: impl IntoIterator<Item = WatchedKind>) -> WatchHealth {
        WatchHealth {
            states: kinds
                .into_iter()
                .map(|kind| (kind, WatchState::Unsynced))
                .collect(),
            was_synced: false,
        }
    }

    pub(super) fn set(&mut self, kind: WatchedKind, view: WatchState) {
        for (known, before) in &mut self.states {
            if *known == kind {
                // Logs only the first of consecutive failures.
                if let WatchState::Interrupted(reason) = &view
                    && !matches!(before, WatchState::Interrupted(_))
                {
                    tracing::warn!("cannot watch {kind:?}: {reason}");
                }
                before.clone_from(&view);
            }
        }
    }

    /// Returns whether the cluster view is complete, if that has changed since the last call.
    pub(super) fn take_change(&mut self) -> Option<bool> {
        let is_synced = self.states.iter().all(|(kind, view)| kind.is_healthy(view));
        let has_changed = is_synced != self.was_synced;
        self.was_synced = is_synced;
        has_changed.then_some(is_synced)
    }

    /// Whether the cluster view is complete.
    pub(super) fn is_synced(&self) -> bool {
        self.was_synced
    }

    /// All watches: kind, whether it is healthy, and its state.
    pub(super) fn states(&self) -> impl Iterator<Item = (WatchedKind, bool, String)> {
        self.states.iter().map(|(kind, state)| {
            let text = match state {
                WatchState::Unsynced => "not listed yet".to_owned(),
                WatchState::Synced => "up to date".to_owned(),
                WatchState::Interrupted(reason) => format!("interrupted: {reason}"),
                WatchState::Unavailable => "not available in this cluster".to_owned(),
            };
            (*kind, kind.is_healthy(state), text)
        })
    }

    /// The watches that are not healthy, with reasons.
    pub(super) fn problems(&self) -> String {
        let bad = self
            .states
            .iter()
            .filter(|(kind, view)| !kind.is_healthy(view));
        let texts = bad.map(|(kind, view)| match view {
            WatchState::Interrupted(reason) => format!("{kind:?}: {reason}"),
            _ => format!("{kind:?}: not listed yet"),
        });
        texts.collect::<Vec<_>>().join("; ")
    }
}

impl WatchedKind {
    /// Whether the kind may be missing.
    pub(super) fn is_optional(self) -> bool {
        matches!(
            self,
            WatchedKind::ConfigMap
                | WatchedKind::PodTemplate
                | WatchedKind::ServiceTemplate
                | WatchedKind::Configs
        )
    }

    /// Settings may be outdated or missing once they were looked up; pods must be known.
    fn is_healthy(self, view: &WatchState) -> bool {
        match self.is_optional() {
            true => *view != WatchState::Unsynced,
            false => *view == WatchState::Synced,
        }
    }
}
