//! The words of Kubernetes for when an image is pulled.

/// When an image is pulled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum PullPolicy {
    Always,
    #[default]
    IfNotPresent,
    Never,
}

impl PullPolicy {
    pub const NAMES: [(&'static str, PullPolicy); 3] = [
        ("Always", PullPolicy::Always),
        ("IfNotPresent", PullPolicy::IfNotPresent),
        ("Never", PullPolicy::Never),
    ];

    /// Ignores upper and lower case.
    pub fn parse(name: &str) -> Option<PullPolicy> {
        let mut names = PullPolicy::NAMES.iter();
        let (_, policy) = names.find(|(known, _)| known.eq_ignore_ascii_case(name))?;
        Some(*policy)
    }
}
