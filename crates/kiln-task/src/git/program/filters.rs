//! Filters: programs that convert files between a work tree and its repository, named by settings and attributes.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};

use super::{GitError, GitProgram, failed};

impl GitProgram {
    /// The same without filters. They are looked up where this git runs. Files are not converted then: one that git would have to
    /// convert differs from its object.
    pub(in crate::git) fn without_filters(self) -> Result<GitProgram, GitError> {
        let arguments = ["-z", "--name-only", "--get-regexp", r"^filter\."].map(OsStr::new);
        let output = self.output("config", &arguments, b"")?;
        // Without any match, the exit code is 1.
        if !matches!(output.status.code(), Some(0 | 1)) {
            return Err(failed("config", &output));
        }
        let keys = output.stdout.split(|byte| *byte == 0);
        let filters: BTreeSet<&[u8]> = keys.filter_map(filter_of).collect();
        let mut git = self;
        for filter in filters {
            for (setting, value) in [
                ("clean", ""),
                ("smudge", ""),
                ("process", ""),
                ("required", "false"),
            ] {
                let key = [filter, b".", setting.as_bytes()].concat();
                git = git.with_config(os_string(key), value);
            }
        }
        Ok(git)
    }
}

/// The filter in the key of a setting: `filter.lfs` in `filter.lfs.clean`. Its name may contain dots, and bytes that are not UTF-8.
fn filter_of(key: &[u8]) -> Option<&[u8]> {
    let end = key.iter().rposition(|byte| *byte == b'.')?;
    let filter = key.get(..end)?;
    filter.starts_with(b"filter.").then_some(filter)
}

#[cfg(unix)]
pub(in crate::git) fn os_string(bytes: Vec<u8>) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes)
}

/// On these systems git's output is UTF-8.
#[cfg(not(unix))]
pub(in crate::git) fn os_string(bytes: Vec<u8>) -> OsString {
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::filter_of;

    #[test]
    fn a_filter_is_named_by_all_but_the_last_part() {
        for (key, filter) in [
            ("filter.lfs.clean", Some("filter.lfs")),
            ("filter.a.b c.process", Some("filter.a.b c")),
            ("filter..clean", Some("filter.")),
            ("filter.clean", None),
            ("", None),
        ] {
            let found = filter_of(key.as_bytes());
            assert_eq!(found, filter.map(str::as_bytes), "{key}");
        }
    }
}
