//! Concurrent writers, remotes that refuse, vanish or are killed, and hostile repositories: no half-done change is visible.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use kiln_task::git::{Atomicity, PublishError, ReadPackageError, RepositoryLocation};
use kiln_task::{
    AccessError, ApproveError, ApproveOverwrite, ChangeError, CommitError, CreateError,
    OnRenderFailure, RepositoryConfig, RepositoryError,
};

use crate::fixture::{Fixture, fixture, new, pull, refs, url};
use crate::steps::{draft, proposal, publish, push};

/// A hook of a repository that is pushed to.
fn hook(fixture: &Fixture, repository: &str, name: &str, script: &str) {
    let path = fixture.path(repository).join("hooks").join(name);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("it can be written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
}

fn through_an_address(fixture: &Fixture) -> kiln_task::Repositories {
    fixture.bare("repo");
    fixture.repositories([RepositoryConfig::new("git", url(&fixture.path("repo")))])
}

#[test]
fn a_refused_push_changes_nothing() {
    let Some(fixture) = fixture() else { return };
    let repositories = through_an_address(&fixture);
    let engine = fixture.engine(&repositories);
    proposal(&engine, "git", "p", "v1");
    hook(
        &fixture,
        "repo",
        "pre-receive",
        "echo 'not today' >&2; exit 1",
    );
    let before = refs(&fixture, "repo");
    let error = engine
        .create(&new("git", "q", "v1", None))
        .expect_err("it is refused");
    let CreateError::Commit(CommitError::Publish(PublishError::Rejected(reason))) = error else {
        panic!("another error: {error:?}");
    };
    assert!(reason.contains("not today"), "{reason}");
    assert!(
        engine
            .approve("git.p.v1", ApproveOverwrite::Refuse)
            .is_err()
    );
    assert_eq!(refs(&fixture, "repo"), before);
}

#[test]
fn one_refused_ref_prevents_the_whole_update() {
    let Some(fixture) = fixture() else { return };
    let repositories = through_an_address(&fixture);
    let engine = fixture.engine(&repositories);
    proposal(&engine, "git", "p", "v1");
    // The tag is refused when the branch may have been accepted already.
    hook(
        &fixture,
        "repo",
        "update",
        "case $1 in refs/tags/*) exit 1;; esac",
    );
    let before = refs(&fixture, "repo");
    assert!(
        engine
            .approve("git.p.v1", ApproveOverwrite::Refuse)
            .is_err()
    );
    assert_eq!(refs(&fixture, "repo"), before);
}

#[test]
fn a_remote_that_vanishes_is_an_error() {
    let Some(fixture) = fixture() else { return };
    let repositories = through_an_address(&fixture);
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    std::fs::rename(fixture.path("repo"), fixture.path("gone")).expect("it can be moved");
    let error = engine.propose("git.p.v1").expect_err("it is gone");
    assert!(
        matches!(error, ChangeError::Access(AccessError::Git(_))),
        "{error:?}"
    );
    std::fs::rename(fixture.path("gone"), fixture.path("repo")).expect("it can be moved back");
    engine.propose("git.p.v1").expect("it is back");
}

#[test]
fn a_killed_push_can_be_repeated() {
    let Some(fixture) = fixture() else { return };
    let repositories = through_an_address(&fixture);
    let engine = fixture.engine(&repositories);
    proposal(&engine, "git", "p", "v1");
    let before = refs(&fixture, "repo");
    // The receiving git dies when it has everything and has changed nothing.
    hook(&fixture, "repo", "pre-receive", "kill -9 $PPID");
    assert!(
        engine
            .approve("git.p.v1", ApproveOverwrite::Refuse)
            .is_err()
    );
    assert_eq!(refs(&fixture, "repo"), before);
    std::fs::remove_file(fixture.path("repo/hooks/pre-receive")).expect("it is there");
    engine
        .approve("git.p.v1", ApproveOverwrite::Refuse)
        .expect("it can be done again");
    fixture.git("repo", &["fsck", "--strict"]);
}

#[test]
fn two_writers_of_a_draft_do_not_overwrite_each_other() {
    let Some(fixture) = fixture() else { return };
    fixture.bare("repo");
    let config = |location| [RepositoryConfig::new("git", location)];
    let here = fixture.repositories(config(RepositoryLocation::Path(fixture.path("repo"))));
    let there = fixture.repositories(config(url(&fixture.path("repo"))));
    let (one, other) = (fixture.engine(&here), fixture.engine(&there));
    draft(&one, "git", "p", "v1");
    let (contents, version) = pull(&one, "git.p.v1");
    let error = other
        .create(&new("git", "p", "v1", None))
        .expect_err("it exists");
    assert!(
        matches!(error, CreateError::WorkspaceExists { .. }),
        "{error}"
    );
    push(
        &other,
        "git.p.v1",
        &contents,
        &version,
        OnRenderFailure::Refuse,
    )
    .expect("it can be pushed");
    let error = push(
        &one,
        "git.p.v1",
        &contents,
        &version,
        OnRenderFailure::Refuse,
    )
    .expect_err("too late");
    assert!(matches!(error, ChangeError::Conflict { .. }), "{error}");
}

/// The branch moves between reading it and pushing; the hook of the remote does it, once.
#[test]
fn an_approval_is_repeated_on_a_branch_that_moved() {
    let Some(fixture) = fixture() else { return };
    let repositories = through_an_address(&fixture);
    let engine = fixture.engine(&repositories);
    proposal(&engine, "git", "p", "v1");
    fixture.write("repo-work", "other", "another's\n");
    fixture.commit("repo-work", "another's");
    fixture.git(
        "repo-work",
        &["push", "--quiet", "origin", "HEAD:refs/heads/moved"],
    );
    // Git forbids ref updates in a hook while objects are quarantined, so the script hides that they are.
    let script = "unset GIT_QUARANTINE_PATH\n[ -e moved-once ] || { touch moved-once; git update-ref refs/heads/main refs/heads/moved; }";
    hook(&fixture, "repo", "pre-receive", script);
    engine
        .approve("git.p.v1", ApproveOverwrite::Refuse)
        .expect("it is done again");
    assert!(fixture.path("repo/moved-once").exists());
    let files = fixture.git("repo", &["ls-tree", "-r", "--name-only", "main"]);
    assert!(
        files.contains("other\n") && files.contains("p/Kptfile\n"),
        "{files}"
    );
    // The second parent is the draft, not an approval that failed.
    let subject = fixture.git("repo", &["log", "-1", "--format=%s", "main^2"]);
    assert_eq!(subject, "Rendering package\n");
    assert_eq!(
        fixture.git("repo", &["log", "-1", "--format=%s", "main^1"]),
        "another's\n"
    );
}

#[test]
fn concurrent_approvals_get_different_numbers() {
    let Some(fixture) = fixture() else { return };
    fixture.bare("repo");
    let config = || {
        [RepositoryConfig::new(
            "git",
            RepositoryLocation::Path(fixture.path("repo")),
        )]
    };
    let repositories = fixture.repositories(config());
    let engine = fixture.engine(&repositories);
    for package in ["a", "b"] {
        draft(&engine, "git", package, "v1");
        engine
            .propose(&format!("git.{package}.v1"))
            .expect("it can be proposed");
    }
    std::thread::scope(|scope| {
        for package in ["a", "b"] {
            let fixture = &fixture;
            scope.spawn(move || {
                let repositories = fixture.repositories([RepositoryConfig::new(
                    "git",
                    RepositoryLocation::Path(fixture.path("repo")),
                )]);
                let engine = fixture.engine(&repositories);
                let approved =
                    engine.approve(&format!("git.{package}.v1"), ApproveOverwrite::Refuse);
                approved.expect("the one that is late begins again");
            });
        }
    });
    let files = fixture.git("repo", &["ls-tree", "--name-only", "main"]);
    assert_eq!(files, "README\na\nb\n", "neither has undone the other");
}

/// Git is killed at each of its steps in turn. The repository is in the old or the new state, and the same command succeeds
/// afterwards.
#[test]
fn git_may_be_killed_at_every_step() {
    let Some(fixture) = fixture() else { return };
    let count = fixture.path("count");
    let script = format!(
        "#!/bin/sh\nn=$(cat {0})\necho $((n - 1)) > {0}\n[ $n -gt 1 ] || kill -9 $$\nexec git \"$@\"\n",
        count.display()
    );
    let program = fixture.path("killed-git");
    std::fs::write(&program, script).expect("it can be written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    for place in ["path", "address"] {
        let name = format!("repo-{place}");
        fixture.bare(&name);
        let location = match place {
            "path" => RepositoryLocation::Path(fixture.path(&name)),
            _ => url(&fixture.path(&name)),
        };
        let config = RepositoryConfig::new("git", location);
        let healthy = fixture.repositories([config.clone()]);
        let engine = fixture.engine(&healthy);
        proposal(&engine, "git", "p", "v1");
        let before = refs(&fixture, &name);
        let mut steps = 1;
        loop {
            std::fs::write(&count, format!("{steps}\n")).expect("it can be written");
            let mut options = fixture.options();
            options.program = fixture.git_program(&program);
            let repositories = kiln_task::Repositories::new([config.clone()], options);
            let engine = fixture.engine(&repositories);
            let approved = engine.approve("git.p.v1", ApproveOverwrite::Refuse);
            let after = refs(&fixture, &name);
            if approved.is_ok() {
                assert!(
                    after.contains("refs/tags/p/v1 ") && !after.contains("proposed/"),
                    "{after}"
                );
                break;
            }
            assert_eq!(after, before, "after {steps} steps");
            steps += 1;
        }
        assert!(steps > 5, "git was killed {steps} times only");
        fixture.git(&name, &["fsck", "--strict"]);
    }
}

/// No file can grow, as on a full disk.
#[test]
fn a_full_disk_leaves_nothing_behind() {
    let Some(fixture) = fixture() else { return };
    let program = fixture.path("full-git");
    std::fs::write(&program, "#!/bin/sh\nulimit -f 0\nexec git \"$@\"\n")
        .expect("it can be written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    for (place, location) in [
        ("path", fixture.bare("path")),
        ("address", RepositoryLocation::Path(fixture.path("address"))),
    ] {
        let location = match place {
            "path" => location,
            _ => {
                fixture.bare(place);
                url(&fixture.path(place))
            }
        };
        let config = RepositoryConfig::new("git", location);
        // The copy of the repository is made while there is room.
        let healthy = fixture.repositories([config.clone()]);
        fixture
            .engine(&healthy)
            .create(&new("git", "p", "v1", None))
            .expect("there is room");
        let before = refs(&fixture, place);
        let mut options = fixture.options();
        options.program = fixture.git_program(&program);
        let repositories = kiln_task::Repositories::new([config], options);
        let engine = fixture.engine(&repositories);
        assert!(engine.create(&new("git", "q", "v1", None)).is_err());
        assert!(engine.propose("git.p.v1").is_err());
        assert_eq!(refs(&fixture, place), before);
        fixture.git(place, &["fsck", "--strict"]);
        assert_eq!(leftovers(&fixture.path(place)), Vec::<String>::new());
    }
    assert_eq!(leftovers(&fixture.path("cache")), Vec::<String>::new());
}

/// Temporary files that a failed git has left.
fn leftovers(directory: &std::path::Path) -> Vec<String> {
    let mut pending = vec![directory.to_owned()];
    let mut found = Vec::new();
    while let Some(directory) = pending.pop() {
        for entry in std::fs::read_dir(directory).expect("it is there").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("tmp_") || name.starts_with("fast_import_crash") {
                found.push(name);
            } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                pending.push(entry.path());
            }
        }
    }
    found
}

/// The remote does not support `--atomic`.
#[test]
fn without_atomic_pushes_approval_needs_a_flag() {
    let Some(fixture) = fixture() else { return };
    let repositories = through_an_address(&fixture);
    let mut engine = fixture.engine(&repositories);
    proposal(&engine, "git", "p", "v1");
    fixture.git("repo", &["config", "receive.advertiseAtomic", "false"]);
    let before = refs(&fixture, "repo");
    let error = engine
        .approve("git.p.v1", ApproveOverwrite::Refuse)
        .expect_err("it could be left half done");
    assert!(matches!(error, ApproveError::NotAtomic), "{error}");
    assert_eq!(refs(&fixture, "repo"), before);
    engine
        .create(&new("git", "q", "v1", None))
        .expect("one ref is changed at once anyway");
    engine.atomicity = Atomicity::NotRequired;
    engine
        .approve("git.p.v1", ApproveOverwrite::Refuse)
        .expect("it is wanted");
    assert!(!refs(&fixture, "repo").contains("proposed/"));
}

#[test]
fn hooks_of_a_repository_on_this_machine_are_not_run() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.checked_out("repo");
    let marker = fixture.path("marker");
    for name in [
        "reference-transaction",
        "post-checkout",
        "post-index-change",
        "pre-receive",
        "update",
        "fsmonitor-watchman",
    ] {
        hook(
            &fixture,
            "repo/.git",
            name,
            &format!("touch {}", marker.display()),
        );
    }
    let fsmonitor = fixture.path("repo/.git/hooks/fsmonitor-watchman");
    fixture.git(
        "repo",
        &["config", "core.fsmonitor", &fsmonitor.display().to_string()],
    );
    let _ = std::fs::remove_file(&marker);
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    publish(&engine, "git.p.v1");
    assert!(!marker.exists());
}

#[test]
fn dangerous_addresses_and_branches_are_refused() {
    let Some(fixture) = fixture() else { return };
    let marker = fixture.path("marker");
    let touch = format!("touch {}", marker.display());
    for address in [
        format!("--upload-pack={touch}"),
        format!("ext::sh -c '{touch}'"),
        "a\nb".to_owned(),
    ] {
        let config = RepositoryConfig::new("git", RepositoryLocation::Address(address));
        let repositories = fixture.repositories([config]);
        let error = repositories.get("git").expect_err("it is not an address");
        assert!(matches!(error, RepositoryError::Open(_)), "{error}");
    }
    let config = RepositoryConfig {
        branch: "--exec=x".to_owned(),
        ..RepositoryConfig::new("git", fixture.bare("repo"))
    };
    let repositories = fixture.repositories([config]);
    assert!(matches!(
        repositories.get("git"),
        Err(RepositoryError::Branch(_))
    ));
    let config = RepositoryConfig::new("git", RepositoryLocation::Path(fixture.path("nowhere")));
    let repositories = fixture.repositories([config]);
    let error = repositories.get("git").expect_err("there is none");
    assert!(
        error.to_string().ends_with("nowhere: no such directory"),
        "{error}"
    );
    assert!(!marker.exists());
}

/// Writes a tree object as it is, however bad.
fn make_tree(fixture: &Fixture, repository: &str, mode: &str, name: &[u8], id: &str) -> String {
    let mut raw = Vec::from(format!("{mode} "));
    raw.extend(name);
    raw.push(0);
    for place in (0..id.len()).step_by(2) {
        raw.push(u8::from_str_radix(&id[place..place + 2], 16).expect("hexadecimal"));
    }
    let file = fixture.path("raw-tree");
    std::fs::write(&file, raw).expect("it can be written");
    let mut command = Command::new("git");
    command.current_dir(fixture.path(repository)).args([
        "hash-object",
        "-t",
        "tree",
        "-w",
        "--literally",
        "--stdin",
    ]);
    command
        .stdin(std::fs::File::open(file).expect("it is there"))
        .stderr(Stdio::inherit());
    let output = command.output().expect("git can be started");
    String::from_utf8(output.stdout)
        .expect("an id")
        .trim()
        .to_owned()
}

#[test]
fn hostile_trees_are_refused() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.checked_out("repo");
    fixture.write(
        "repo",
        "p/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n",
    );
    fixture.commit("repo", "a package");
    let blob = fixture
        .git("repo", &["rev-parse", "HEAD:README"])
        .trim()
        .to_owned();
    let commit = fixture
        .git("repo", &["rev-parse", "HEAD"])
        .trim()
        .to_owned();
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    let repository = repositories.get("git").expect("it can be opened");
    let read = |tree: &str| {
        let output = fixture.git("repo", &["commit-tree", "-m", "hostile", tree]);
        let commit = kiln_task::git::ObjectId::new(output.trim()).expect("an id");
        repository
            .store
            .read_package(&commit, "")
            .expect_err("it is hostile")
    };
    for name in ["..", ".", ".git", ".GIT", "a\\b", "a\nb"] {
        let tree = make_tree(&fixture, "repo", "100644", name.as_bytes(), &blob);
        assert!(matches!(read(&tree), ReadPackageError::Path(_)), "{name:?}");
        let inner = make_tree(
            &fixture,
            "repo",
            "40000",
            name.as_bytes(),
            &make_tree(&fixture, "repo", "100644", b"x", &blob),
        );
        assert!(
            matches!(read(&inner), ReadPackageError::Path(_)),
            "{name:?}"
        );
    }
    let tree = make_tree(&fixture, "repo", "100644", b"\xff", &blob);
    assert!(matches!(read(&tree), ReadPackageError::NotText { .. }));
    let tree = make_tree(&fixture, "repo", "160000", b"module", &commit);
    assert!(matches!(read(&tree), ReadPackageError::Submodule(_)));
    // A few objects that are a great many files.
    let mut tree = make_tree(&fixture, "repo", "100644", b"f", &blob);
    for _ in 0..40 {
        let entries = format!("040000 tree {tree}\ta\n040000 tree {tree}\tb\n");
        let file = fixture.path("entries");
        std::fs::write(&file, entries).expect("it can be written");
        let mut command = Command::new("git");
        command.current_dir(fixture.path("repo")).arg("mktree");
        command.stdin(std::fs::File::open(file).expect("it is there"));
        let output = command.output().expect("git can be started");
        tree = String::from_utf8(output.stdout)
            .expect("an id")
            .trim()
            .to_owned();
    }
    assert!(matches!(read(&tree), ReadPackageError::TooMany { .. }));
    fixture.write("repo", "p/large", &"x".repeat(2 * 1024 * 1024));
    fixture.commit("repo", "too large");
    let tree = fixture.git("repo", &["rev-parse", "HEAD:p"]);
    assert!(matches!(
        read(tree.trim()),
        ReadPackageError::TooLarge { .. }
    ));
}

#[test]
fn refs_with_strange_names_are_skipped() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.checked_out("repo");
    let head = fixture
        .git("repo", &["rev-parse", "HEAD"])
        .trim()
        .to_owned();
    let packed = format!(
        "# pack-refs with: peeled fully-peeled sorted \n{head} refs/heads/drafts/-x/--y\n{head} refs/tags/-rf/v1\n{head} refs/heads/drafts/alone\n"
    );
    std::fs::write(fixture.path("repo/.git/packed-refs"), packed).expect("it can be written");
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    let repository = repositories.get("git").expect("it can be opened");
    let snapshot = repository.snapshot().expect("it can be read");
    assert!(snapshot.revisions.is_empty());
}

/// Git and kiln are killed during a ref update: the locks are removed as soon as they are too old for a running git.
#[test]
fn only_locks_of_killed_processes_are_removed() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.bare("repo");
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    let engine = fixture.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    draft(&engine, "git", "q", "v1");
    let before = refs(&fixture, "repo");
    let left = ["drafts/p/v1", "proposed/p/v1"].map(|name| format!("refs/heads/{name}"));
    for name in &left {
        fixture.write("repo", &format!("{name}.lock"), "");
    }
    fixture.write("repo", "packed-refs.lock", "");
    fixture.write("repo", "refs/heads/drafts/q/v1.lock", "");
    let id = fixture.git("repo", &["rev-parse", "drafts/p/v1"]);
    let id = id.trim();
    let [draft, proposal] = &left;
    let said =
        format!("start\ncreate {proposal} {id}\ndelete {draft} {id}\nprepare\ncommit\nstart: ok\n");
    fixture.write("repo", "kiln-refs", &said);
    let error = engine.propose("git.q.v1").expect_err("it is locked");
    assert!(error.to_string().contains("failed to push"), "{error}");
    assert_eq!(refs(&fixture, "repo"), before);
    assert!(fixture.path("repo/refs/heads/drafts/q/v1.lock").exists());
    engine.propose("git.p.v1").expect("it is not locked");
    std::fs::remove_file(fixture.path("repo/refs/heads/drafts/q/v1.lock")).expect("it is there");
    engine.propose("git.q.v1").expect("it is not locked");
    assert!(!fixture.path("repo/kiln-refs").exists());
    assert!(!fixture.path("repo/packed-refs.lock").exists());
}

/// Git updates refs one by one and can be killed in between.
#[test]
fn interrupted_ref_updates_are_completed() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.bare("repo");
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    proposal(&fixture.engine(&repositories), "git", "p", "v1");
    let before = refs(&fixture, "repo");
    let id = |name: &str| fixture.git("repo", &["rev-parse", name]).trim().to_owned();
    let (main, proposed) = (id("main"), id("proposed/p/v1"));
    let transaction = format!(
        "start\ncreate refs/tags/p/v1 {main}\ndelete refs/heads/proposed/p/v1 {proposed}\nprepare\ncommit\nstart: ok\n"
    );
    let locks = ["packed-refs.lock", "refs/heads/proposed/p/v1.lock"];
    // How far git has come, whether the tag is there, and what is there afterwards.
    for (said, has_tag, is_finished) in [
        ("prepare: ok\n", false, false),
        ("prepare: ok\ncommit: ok\n", true, false),
        ("prepare: ok\n", true, true),
    ] {
        for lock in locks {
            fixture.write("repo", lock, "");
        }
        if has_tag {
            fixture.git("repo", &["update-ref", "refs/tags/p/v1", &main]);
        }
        fixture.write("repo", "kiln-refs", &format!("{transaction}{said}"));
        let repositories = fixture.repositories(repositories.configs().cloned());
        repositories.get("git").expect("it can be opened");
        let after = refs(&fixture, "repo");
        assert_eq!(after.contains("refs/tags/p/v1 "), has_tag, "{said}{after}");
        let has_proposal = after.contains("refs/heads/proposed/p/v1 ");
        assert_eq!(has_proposal, !is_finished, "{said}{after}");
        assert!(!fixture.path("repo/kiln-refs").exists(), "{said}");
        let is_committed = said.contains("commit");
        for lock in locks.map(|lock| fixture.path("repo").join(lock)) {
            assert_eq!(lock.exists(), is_committed, "{said}");
            let _ = std::fs::remove_file(lock);
        }
        if has_tag && !is_finished {
            fixture.git("repo", &["tag", "-d", "p/v1"]);
            assert_eq!(refs(&fixture, "repo"), before);
        }
    }
}

/// A journal in an untrusted repository cannot name files outside it.
#[test]
fn locks_outside_the_repository_are_not_removed() {
    let Some(fixture) = fixture() else { return };
    let location = fixture.bare("repo");
    fixture.write("", "outside/v1.lock", "");
    let old = std::time::SystemTime::UNIX_EPOCH;
    let lock = std::fs::File::options()
        .write(true)
        .open(fixture.path("outside/v1.lock"));
    lock.and_then(|lock| lock.set_modified(old))
        .expect("it is ours");
    std::os::unix::fs::symlink(
        fixture.path("outside"),
        fixture.path("repo/refs/heads/drafts"),
    )
    .expect("it can be made");
    let id = "0".repeat(40);
    let said = format!("start\ncreate refs/heads/drafts/v1 {id}\ncreate refs/heads/../x {id}\n");
    fixture.write("repo", "kiln-refs", &format!("{said}prepare: ok\n"));
    let repositories = fixture.repositories([RepositoryConfig::new("git", location)]);
    repositories.get("git").expect("it can be opened");
    assert!(fixture.path("outside/v1.lock").exists());
}
