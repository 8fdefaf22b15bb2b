//! What happens while packages are fetched and updated, in kpt's words.

use std::fmt;

use kiln_go::quote;

/// An event of `get`, `update` or `diff`. Displayed as the line that kpt prints.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PkgEvent {
    /// Work on a package begins. All but the first are preceded by a blank line.
    Package {
        path: String,
        is_first: bool,
    },
    /// A package is fetched from this source: `REPO@REF` or `oci://IMAGE`.
    Fetching(String),
    FetchingUpstream(String),
    FetchingOrigin(String),
    /// What git printed during a fetch.
    GitOutput(String),
    IgnoringLink(String),
    /// Not with kpt's rules, and neither is the next one.
    IgnoringSubmodule(String),
    /// The address of this repository has a user name or a password.
    StoringCredentials(String),
    AddingFetched(String),
    Fetched(usize),
    Updating {
        package: String,
        strategy: String,
    },
    AddedInBoth(String),
    AddingFromUpstream(String),
    IgnoringDeleted(String),
    Deleting(String),
    KeepingChanged(String),
    Updated(usize),
}

impl fmt::Display for PkgEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PkgEvent::Package { path, is_first } => {
                let blank = if *is_first { "" } else { "\n" };
                write!(f, "{blank}Package {}:", quote(path))
            }
            PkgEvent::Fetching(source) => write!(f, "Fetching {source}"),
            PkgEvent::FetchingUpstream(source) => write!(f, "Fetching upstream from {source}"),
            PkgEvent::FetchingOrigin(source) => write!(f, "Fetching origin from {source}"),
            PkgEvent::GitOutput(text) => f.write_str(text.trim_end_matches('\n')),
            PkgEvent::IgnoringLink(path) => write!(f, "[Warn] Ignoring symlink {} ", quote(path)),
            PkgEvent::IgnoringSubmodule(path) => {
                write!(f, "[Warn] Ignoring submodule {}", quote(path))
            }
            PkgEvent::StoringCredentials(repo) => write!(
                f,
                "[Warn] The Kptfile keeps the credentials in the address of {repo}; use a credential helper of git instead"
            ),
            PkgEvent::AddingFetched(path) => write!(f, "Adding package {}.", quote(path)),
            PkgEvent::Fetched(count) => write!(f, "\nFetched {count} package(s)."),
            PkgEvent::Updating { package, strategy } => write!(
                f,
                "Updating package {} with strategy {}.",
                quote(package),
                quote(strategy)
            ),
            PkgEvent::AddedInBoth(package) => {
                write!(
                    f,
                    "Package {} added in both local and upstream.",
                    quote(package)
                )
            }
            PkgEvent::AddingFromUpstream(package) => {
                write!(f, "Adding package {} from upstream.", quote(package))
            }
            PkgEvent::IgnoringDeleted(package) => write!(
                f,
                "Ignoring package {} in upstream since it is deleted from local.",
                quote(package)
            ),
            PkgEvent::Deleting(package) => write!(
                f,
                "Deleting package {} from local since it is removed in upstream.",
                quote(package)
            ),
            PkgEvent::KeepingChanged(package) => write!(
                f,
                "Package {} deleted from upstream, but keeping local since it has changes.",
                quote(package)
            ),
            PkgEvent::Updated(count) => write!(f, "\nUpdated {count} package(s)."),
        }
    }
}
