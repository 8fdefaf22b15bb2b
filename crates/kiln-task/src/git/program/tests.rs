//! What reaches git, and what comes back from it.

use std::ffi::OsStr;

use super::{is_passed, without_credentials};

#[test]
fn variables_about_other_repositories_do_not_reach_git() {
    for name in [
        "GIT_DIR",
        "GIT_INDEX_FILE",
        "GIT_CONFIG_COUNT",
        "GIT_AUTHOR_NAME",
        "LC_ALL",
    ] {
        assert!(!is_passed(OsStr::new(name)), "{name}");
    }
    for name in [
        "HOME",
        "PATH",
        "SSH_AUTH_SOCK",
        "GIT_ASKPASS",
        "GIT_SSH_COMMAND",
    ] {
        assert!(is_passed(OsStr::new(name)), "{name}");
    }
}

#[test]
fn credentials_are_removed_from_messages() {
    for (text, clean) in [
        (
            "unable to access 'https://me:secret@example.com/r.git': no; http://token@h x",
            "unable to access 'https://example.com/r.git': no; http://h x",
        ),
        ("ssh://git@h/r", "ssh://git@h/r"),
        ("ssh://git:secret@h/r", "ssh://git@h/r"),
        ("git@h:r", "git@h:r"),
        ("a@b://c", "a@b://c"),
    ] {
        assert_eq!(without_credentials(text), clean);
    }
}
