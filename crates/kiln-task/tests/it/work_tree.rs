//! What git has of the files of a directory: which repository it is, and that nothing of the repository is run.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use kiln_task::git::{GitError, GitProgram, WorkTree, WorkTreeError};

use crate::fixture::{Fixture, fixture};

#[track_caller]
fn around(fixture: &Fixture, directory: &str) -> WorkTree {
    let git = fixture.git_program(Path::new("git"));
    let found = WorkTree::around(&git, &fixture.path(directory)).expect("git can read it");
    found.expect("it is in a repository")
}

fn paths(names: &[&str]) -> BTreeSet<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}

/// Gives a file another time and the same content, so that git reads it again.
fn touch(path: &Path) {
    let file = std::fs::File::open(path).expect("a file");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH)
        .expect("it is ours");
}

#[test]
fn files_are_tracked_modified_or_neither() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("repo");
    for name in ["a/same", "a/edited", "a/staged", "a/gone", "b/other"] {
        fixture.write("repo", name, "old\n");
    }
    fixture.commit("repo", "files");
    for name in ["a/edited", "a/staged", "a/new", "a/added", "b/other"] {
        fixture.write("repo", name, "new\n");
    }
    fixture.git("repo", &["add", "a/staged", "a/added"]);
    std::fs::remove_file(fixture.path("repo/a/gone")).expect("it is there");
    touch(&fixture.path("repo/a/same"));
    let work_tree = around(&fixture, "repo/a");
    let status = work_tree.status().expect("a status");
    let tracked = paths(&["added", "edited", "gone", "same", "staged"]);
    assert_eq!(status.tracked, tracked);
    let modified = paths(&["added", "edited", "gone", "staged"]);
    assert_eq!(status.modified, modified);
    let changed = work_tree.changed_since("HEAD").expect("changes");
    let new = paths(&["added", "edited", "gone", "new", "staged"]);
    assert_eq!(changed, new);
}

/// The fixture's environment has a GIT_DIR as well, which must not select the repository.
#[test]
fn a_linked_work_tree_is_its_own() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("repo");
    fixture.git("repo", &["worktree", "add", "-q", "../linked"]);
    fixture.write("linked", "README", "new\n");
    let modified = |directory| {
        around(&fixture, directory)
            .status()
            .expect("a status")
            .modified
    };
    assert_eq!(modified("linked"), paths(&["README"]));
    assert_eq!(modified("repo"), paths(&[]));
}

/// Writes settings and attributes that name programs, each of which writes a file.
fn hostile(fixture: &Fixture, repository: &str) {
    let ran = fixture.path("ran").display().to_string();
    let program = format!("touch {ran}; cat");
    for key in [
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "filter.a \"b\".c.clean",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "core.fsmonitor",
    ] {
        fixture.git(repository, &["config", key, &program]);
    }
    for key in ["filter.evil.required", "filter.a \"b\".c.required"] {
        fixture.git(repository, &["config", key, "true"]);
    }
    let git_dir = fixture.git(repository, &["rev-parse", "--absolute-git-dir"]);
    let git_dir = Path::new(git_dir.trim());
    // A name that is not UTF-8.
    let setting = [
        b"[filter \"\xff\"]\n\tclean = \"".as_slice(),
        program.as_bytes(),
        b"\"\n",
    ];
    let config = git_dir.join("config");
    let mut text = std::fs::read(&config).expect("a file");
    text.extend(setting.concat());
    std::fs::write(config, text).expect("it is ours");
    let attributes = b"* filter=evil diff=evil\nB filter=\xff\n";
    std::fs::create_dir_all(git_dir.join("info")).expect("it can be made");
    std::fs::write(git_dir.join("info/attributes"), attributes).expect("it is ours");
    let hooks = git_dir.join("hooks");
    std::fs::create_dir_all(&hooks).expect("it can be made");
    for hook in ["post-index-change", "post-checkout"] {
        let script = format!("#!/bin/sh\ntouch {ran}\n");
        std::fs::write(hooks.join(hook), script).expect("it is ours");
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(hooks.join(hook), mode).expect("it is ours");
    }
}

/// Regression: `--changed-since` and `kiln pkg update` ran filters, also those of submodules.
#[test]
fn nothing_that_a_repository_names_is_run() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("repo");
    fixture.checked_out("repo/inner");
    for repository in ["repo/inner", "repo"] {
        for name in ["A", "B"] {
            fixture.write(repository, name, "text\n");
        }
        fixture.commit(repository, "files");
    }
    let other = OsString::from_vec(b"\xff".to_vec());
    std::fs::write(fixture.path("repo/inner").join(&other), "").expect("it can be written");
    for repository in ["repo", "repo/inner"] {
        hostile(&fixture, repository);
        for name in ["A", "B"] {
            touch(&fixture.path(repository).join(name));
        }
    }
    let work_tree = around(&fixture, "repo");
    let status = work_tree.status().expect("a status");
    assert_eq!(status.modified, paths(&[]));
    let changed = work_tree.changed_since("HEAD").expect("changes");
    assert_eq!(changed, paths(&["inner"]));
    let inner = around(&fixture, "repo/inner").changed_since("HEAD");
    let other: BTreeSet<PathBuf> = [other.into()].into();
    assert_eq!(inner.expect("changes"), other);
    assert!(!fixture.path("ran").exists(), "a program was run");
}

#[test]
fn changes_in_submodules_are_found() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("repo");
    for submodule in ["repo/edited", "repo/new", "repo/same", "repo/moved"] {
        fixture.checked_out(submodule);
        fixture.checked_out(&format!("{submodule}/deep"));
        fixture.commit(submodule, "deep");
    }
    // One that is not checked out.
    fixture.checked_out("repo/empty");
    fixture.commit("repo", "submodules");
    std::fs::remove_dir_all(fixture.path("repo/empty")).expect("it is ours");
    std::fs::create_dir(fixture.path("repo/empty")).expect("it can be made");
    fixture.write("repo/edited/deep", "README", "new\n");
    fixture.write("repo/new/deep", "other", "new\n");
    fixture.commit("repo/moved", "another");
    let changed = around(&fixture, "repo").changed_since("HEAD");
    assert_eq!(
        changed.expect("changes"),
        paths(&["edited", "moved", "new"])
    );
}

#[test]
fn commits_that_cannot_be_compared_are_errors_of_their_own() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("repo");
    let work_tree = around(&fixture, "repo");
    let missing = "0123456789012345678901234567890123456789";
    for name in [
        "nothing",
        "-q",
        "--output=x",
        "",
        "^main",
        missing,
        "HEAD:README",
    ] {
        let error = work_tree.changed_since(name).expect_err(name);
        let WorkTreeError::UnknownCommit(unknown) = &error else {
            panic!("{name}: {error:?}");
        };
        assert_eq!(unknown, name);
    }
    fixture.git("repo", &["checkout", "-q", "--orphan", "other"]);
    for _ in ["before its first commit", "after it"] {
        let error = work_tree.changed_since("main").expect_err("no ancestor");
        assert!(matches!(error, WorkTreeError::Unrelated(_)), "{error:?}");
        fixture.commit("repo", "unrelated");
    }
}

#[test]
fn outside_of_repositories_git_is_not_needed() {
    let Some(fixture) = fixture() else { return };
    fixture.write("plain", "file", "");
    let missing = GitProgram::new("git", [("PATH".into(), "/nonexistent".into())]);
    let found = WorkTree::around(&missing, &fixture.path("plain"));
    assert!(matches!(found, Ok(None)), "{found:?}");
    let found = WorkTree::around(&missing, &fixture.path("nowhere"));
    assert!(matches!(found, Err(WorkTreeError::NoDirectory(_))));
    fixture.checked_out("repo");
    let found = WorkTree::around(&missing, &fixture.path("repo"));
    let Err(WorkTreeError::Git(error @ GitError::Missing(_))) = found else {
        panic!("{found:?}");
    };
    let text = kiln_go::error_chain(&error);
    assert_eq!(text, "cannot run git: there is no git on the PATH");
}

#[test]
fn an_old_git_reads_no_work_tree() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("repo");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = version ] || touch {}\necho git version 2.20.1\n",
        fixture.path("used").display()
    );
    let program = fixture.path("old-git");
    std::fs::write(&program, script).expect("it can be written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let found = WorkTree::around(&fixture.git_program(&program), &fixture.path("repo"));
    let Err(WorkTreeError::Git(GitError::TooOld { .. })) = found else {
        panic!("{found:?}");
    };
    assert!(!fixture.path("used").exists(), "git was used");
}

/// A damaged repository is not the absence of one: its files may have changes.
#[test]
fn a_damaged_repository_is_an_error() {
    let Some(fixture) = fixture() else { return };
    let git = fixture.git_program(Path::new("git"));
    for damage in [
        "rm .git/HEAD",
        "echo [core >> .git/config",
        "rm -r .git; echo gitdir: nowhere > .git",
        "git config core.bare true",
        "git config core.repositoryFormatVersion 99",
    ] {
        let _ = std::fs::remove_dir_all(fixture.path("repo"));
        fixture.checked_out("repo");
        let mut shell = Command::new("sh");
        shell.args(["-c", damage]).current_dir(fixture.path("repo"));
        assert!(shell.status().expect("a shell").success(), "{damage}");
        let found = WorkTree::around(&git, &fixture.path("repo"));
        let Err(WorkTreeError::Git(GitError::Failed { .. })) = found else {
            panic!("{damage}: {found:?}");
        };
    }
}

#[test]
#[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
fn the_repository_of_another_user_is_refused() {
    let Some(fixture) = fixture() else { return };
    fixture.checked_out("repo");
    fixture.write("repo", "sub/file", "");
    if std::os::unix::fs::chown(fixture.path("repo"), Some(4321), None).is_err() {
        eprintln!("SKIPPED: only the administrator can give files away");
        return;
    }
    let git = fixture.git_program(Path::new("git"));
    let find = || WorkTree::around(&git, &fixture.path("repo/sub"));
    match find() {
        Err(WorkTreeError::ForeignOwner(foreign)) => {
            assert_eq!(foreign.owner, 4321);
            assert_eq!(
                Ok(foreign.path),
                fixture.path("repo").canonicalize().map_err(drop)
            );
        }
        // Before 2.35.2, git does not check owners.
        Ok(Some(_)) => return,
        other => panic!("{other:?}"),
    }
    let root = fixture.path("repo").display().to_string();
    fixture.git("", &["config", "--global", "safe.directory", &root]);
    assert!(matches!(find(), Ok(Some(_))));
}
