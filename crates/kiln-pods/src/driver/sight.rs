//! What can be seen of the cluster at the moment.

/// What is watched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Pods,
    Services,
    Slices,
    Leases,
    ConfigMap,
    PodTemplate,
    ServiceTemplate,
    Configs,
    /// Not watched, but asked for all the time: it shows that the API server answers.
    OwnLease,
}

/// How well a kind is seen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum View {
    /// Nothing has been seen yet.
    Not,
    Clear,
    /// It was seen, or should be.
    Blind(String),
    /// There is no such kind here.
    Absent,
}

/// How well everything is seen.
#[derive(Debug)]
pub(super) struct Sight {
    views: Vec<(Kind, View)>,
    was_clear: bool,
}

impl Sight {
    /// Nothing of what is watched has been seen.
    pub(super) fn new(kinds: impl IntoIterator<Item = Kind>) -> Sight {
        Sight {
            views: kinds.into_iter().map(|kind| (kind, View::Not)).collect(),
            was_clear: false,
        }
    }

    pub(super) fn set(&mut self, kind: Kind, view: View) {
        for (known, before) in &mut self.views {
            if *known == kind {
                // What is said again is not logged again.
                if let View::Blind(reason) = &view
                    && !matches!(before, View::Blind(_))
                {
                    tracing::warn!("{kind:?} cannot be watched: {reason}");
                }
                before.clone_from(&view);
            }
        }
    }

    /// Whether that has changed since it was asked last: what is seen is all there is, or is not any more.
    pub(super) fn turned(&mut self) -> Option<bool> {
        let is_clear = self.views.iter().all(|(kind, view)| kind.is_fine(view));
        let has_turned = is_clear != self.was_clear;
        self.was_clear = is_clear;
        has_turned.then_some(is_clear)
    }

    /// Whether all there is is seen.
    pub(super) fn is_clear(&self) -> bool {
        self.was_clear
    }

    /// What is not seen, and why.
    pub(super) fn complaint(&self) -> String {
        let bad = self.views.iter().filter(|(kind, view)| !kind.is_fine(view));
        let texts = bad.map(|(kind, view)| match view {
            View::Blind(reason) => format!("{kind:?}: {reason}"),
            _ => format!("{kind:?}: nothing seen yet"),
        });
        texts.collect::<Vec<_>>().join("; ")
    }
}

impl Kind {
    /// Whether there need be none.
    pub(super) fn is_optional(self) -> bool {
        matches!(
            self,
            Kind::ConfigMap | Kind::PodTemplate | Kind::ServiceTemplate | Kind::Configs
        )
    }

    /// Settings may be old or absent as long as they were looked for; what pods there are must be known.
    fn is_fine(self, view: &View) -> bool {
        match self.is_optional() {
            true => *view != View::Not,
            false => *view == View::Clear,
        }
    }
}
