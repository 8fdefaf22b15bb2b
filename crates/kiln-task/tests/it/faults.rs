//! Other writers, remotes that refuse, vanish or are killed, and repositories that mean harm: nothing half done is seen.

use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use kiln_task::git::{Atomicity, Location, PublishError, ReadPackageError};
use kiln_task::{
    AccessError, ApproveError, ChangeError, CommitError, CreateError, OnRenderFailure, Overwrite,
    RepositoryConfig, RepositoryError,
};

use crate::steps::{draft, proposal, publish};
use crate::world::{World, new, pull, refs, url, world};

/// A hook of a repository that is pushed to.
fn hook(world: &World, repository: &str, name: &str, script: &str) {
    let path = world.path(repository).join("hooks").join(name);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("it can be made");
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("it can be written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
}

fn through_an_address(world: &World) -> kiln_task::Repositories {
    world.bare("repo");
    world.repositories([RepositoryConfig::new("git", url(&world.path("repo")))])
}

#[test]
fn a_remote_that_refuses_is_believed_and_unchanged() {
    let Some(world) = world() else { return };
    let repositories = through_an_address(&world);
    let engine = world.engine(&repositories);
    proposal(&engine, "git", "p", "v1");
    hook(
        &world,
        "repo",
        "pre-receive",
        "echo 'not today' >&2; exit 1",
    );
    let before = refs(&world, "repo");
    let error = engine
        .create(&new("git", "q", "v1", None))
        .expect_err("it is refused");
    let CreateError::Commit(CommitError::Publish(PublishError::Rejected(reason))) = error else {
        panic!("another error: {error:?}");
    };
    assert!(reason.contains("not today"), "{reason}");
    assert!(engine.approve("git.p.v1", Overwrite::Refuse).is_err());
    assert_eq!(refs(&world, "repo"), before);
}

#[test]
fn one_refused_ref_keeps_all_others_from_changing() {
    let Some(world) = world() else { return };
    let repositories = through_an_address(&world);
    let engine = world.engine(&repositories);
    proposal(&engine, "git", "p", "v1");
    // The tag is refused when the branch may have been accepted already.
    hook(
        &world,
        "repo",
        "update",
        "case $1 in refs/tags/*) exit 1;; esac",
    );
    let before = refs(&world, "repo");
    assert!(engine.approve("git.p.v1", Overwrite::Refuse).is_err());
    assert_eq!(refs(&world, "repo"), before);
}

#[test]
fn a_remote_that_vanishes_is_an_error() {
    let Some(world) = world() else { return };
    let repositories = through_an_address(&world);
    let engine = world.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    std::fs::rename(world.path("repo"), world.path("gone")).expect("it can be moved");
    let error = engine.propose("git.p.v1").expect_err("it is gone");
    assert!(
        matches!(error, ChangeError::Access(AccessError::Git(_))),
        "{error:?}"
    );
    std::fs::rename(world.path("gone"), world.path("repo")).expect("it can be moved back");
    engine.propose("git.p.v1").expect("it is back");
}

#[test]
fn a_push_that_is_killed_can_be_done_again() {
    let Some(world) = world() else { return };
    let repositories = through_an_address(&world);
    let engine = world.engine(&repositories);
    proposal(&engine, "git", "p", "v1");
    let before = refs(&world, "repo");
    // The receiving git dies when it has everything and has changed nothing.
    hook(&world, "repo", "pre-receive", "kill -9 $PPID");
    assert!(engine.approve("git.p.v1", Overwrite::Refuse).is_err());
    assert_eq!(refs(&world, "repo"), before);
    std::fs::remove_file(world.path("repo/hooks/pre-receive")).expect("it is there");
    engine
        .approve("git.p.v1", Overwrite::Refuse)
        .expect("it can be done again");
    world.git("repo", &["fsck", "--strict"]);
}

#[test]
fn two_writers_of_a_draft_do_not_overwrite_each_other() {
    let Some(world) = world() else { return };
    world.bare("repo");
    let config = |location| [RepositoryConfig::new("git", location)];
    let here = world.repositories(config(Location::Path(world.path("repo"))));
    let there = world.repositories(config(url(&world.path("repo"))));
    let (one, other) = (world.engine(&here), world.engine(&there));
    draft(&one, "git", "p", "v1");
    let (contents, version) = pull(&one, "git.p.v1");
    let error = other
        .create(&new("git", "p", "v1", None))
        .expect_err("it exists");
    assert!(
        matches!(error, CreateError::WorkspaceExists { .. }),
        "{error}"
    );
    other
        .push("git.p.v1", &contents, &version, OnRenderFailure::Refuse)
        .expect("it can be pushed");
    let error = one
        .push("git.p.v1", &contents, &version, OnRenderFailure::Refuse)
        .expect_err("too late");
    assert!(matches!(error, ChangeError::Conflict(_)), "{error}");
}

/// The branch moves between reading it and pushing; the hook of the remote does it, once.
#[test]
fn an_approval_is_repeated_on_a_branch_that_moved() {
    let Some(world) = world() else { return };
    let repositories = through_an_address(&world);
    let engine = world.engine(&repositories);
    proposal(&engine, "git", "p", "v1");
    world.write("repo-work", "other", "somebody else's\n");
    world.commit("repo-work", "somebody else's");
    world.git(
        "repo-work",
        &["push", "--quiet", "origin", "HEAD:refs/heads/moved"],
    );
    // Quarantined objects forbid changing refs inside of a hook, so git is told that there are none.
    let script = "unset GIT_QUARANTINE_PATH\n[ -e moved-once ] || { touch moved-once; git update-ref refs/heads/main refs/heads/moved; }";
    hook(&world, "repo", "pre-receive", script);
    engine
        .approve("git.p.v1", Overwrite::Refuse)
        .expect("it is done again");
    assert!(world.path("repo/moved-once").exists());
    let files = world.git("repo", &["ls-tree", "-r", "--name-only", "main"]);
    assert!(
        files.contains("other\n") && files.contains("p/Kptfile\n"),
        "{files}"
    );
    // The second parent is the draft, not an approval that failed.
    let subject = world.git("repo", &["log", "-1", "--format=%s", "main^2"]);
    assert_eq!(subject, "Rendering package\n");
    assert_eq!(
        world.git("repo", &["log", "-1", "--format=%s", "main^1"]),
        "somebody else's\n"
    );
}

#[test]
fn many_approvals_at_once_all_get_numbers_of_their_own() {
    let Some(world) = world() else { return };
    world.bare("repo");
    let config = || {
        [RepositoryConfig::new(
            "git",
            Location::Path(world.path("repo")),
        )]
    };
    let repositories = world.repositories(config());
    let engine = world.engine(&repositories);
    for package in ["a", "b"] {
        draft(&engine, "git", package, "v1");
        engine
            .propose(&format!("git.{package}.v1"))
            .expect("it can be proposed");
    }
    std::thread::scope(|scope| {
        for package in ["a", "b"] {
            let world = &world;
            scope.spawn(move || {
                let repositories = world.repositories([RepositoryConfig::new(
                    "git",
                    Location::Path(world.path("repo")),
                )]);
                let engine = world.engine(&repositories);
                let approved = engine.approve(&format!("git.{package}.v1"), Overwrite::Refuse);
                approved.expect("the one that is late begins again");
            });
        }
    });
    let files = world.git("repo", &["ls-tree", "--name-only", "main"]);
    assert_eq!(files, "README\na\nb\n", "neither has undone the other");
}

/// Git is killed, in place of the whole program, at each of its steps in turn. What is seen is what was before or what should
/// be, and the same command brings it about afterwards.
#[test]
fn every_step_can_be_the_last() {
    let Some(world) = world() else { return };
    let count = world.path("count");
    let script = format!(
        "#!/bin/sh\nn=$(cat {0})\necho $((n - 1)) > {0}\n[ $n -gt 1 ] || kill -9 $$\nexec git \"$@\"\n",
        count.display()
    );
    let program = world.path("killed-git");
    std::fs::write(&program, script).expect("it can be written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    for place in ["path", "address"] {
        let name = format!("repo-{place}");
        world.bare(&name);
        let location = match place {
            "path" => Location::Path(world.path(&name)),
            _ => url(&world.path(&name)),
        };
        let config = RepositoryConfig::new("git", location);
        let healthy = world.repositories([config.clone()]);
        let engine = world.engine(&healthy);
        proposal(&engine, "git", "p", "v1");
        let before = refs(&world, &name);
        let mut steps = 1;
        loop {
            std::fs::write(&count, format!("{steps}\n")).expect("it can be written");
            let mut options = world.options();
            options.program = world.git_program(&program);
            let repositories = kiln_task::Repositories::new([config.clone()], options);
            let engine = world.engine(&repositories);
            let approved = engine.approve("git.p.v1", Overwrite::Refuse);
            let after = refs(&world, &name);
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
        world.git(&name, &["fsck", "--strict"]);
    }
}

/// No file can grow, as on a disk that is full.
#[test]
fn a_full_disk_leaves_nothing_behind() {
    let Some(world) = world() else { return };
    let program = world.path("full-git");
    std::fs::write(&program, "#!/bin/sh\nulimit -f 0\nexec git \"$@\"\n")
        .expect("it can be written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    for (place, location) in [
        ("path", world.bare("path")),
        ("address", Location::Path(world.path("address"))),
    ] {
        let location = match place {
            "path" => location,
            _ => {
                world.bare(place);
                url(&world.path(place))
            }
        };
        let config = RepositoryConfig::new("git", location);
        // The copy of the repository is made while there is room.
        let healthy = world.repositories([config.clone()]);
        world
            .engine(&healthy)
            .create(&new("git", "p", "v1", None))
            .expect("there is room");
        let before = refs(&world, place);
        let mut options = world.options();
        options.program = world.git_program(&program);
        let repositories = kiln_task::Repositories::new([config], options);
        let engine = world.engine(&repositories);
        assert!(engine.create(&new("git", "q", "v1", None)).is_err());
        assert!(engine.propose("git.p.v1").is_err());
        assert_eq!(refs(&world, place), before);
        world.git(place, &["fsck", "--strict"]);
        assert_eq!(leftovers(&world.path(place)), Vec::<String>::new());
    }
    assert_eq!(leftovers(&world.path("cache")), Vec::<String>::new());
}

/// What a git that failed has not removed.
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

/// A git that does not know `--atomic` at the other end.
#[test]
fn without_atomic_pushes_there_is_no_approval_unless_it_is_wanted() {
    let Some(world) = world() else { return };
    let repositories = through_an_address(&world);
    let mut engine = world.engine(&repositories);
    proposal(&engine, "git", "p", "v1");
    world.git("repo", &["config", "receive.advertiseAtomic", "false"]);
    let before = refs(&world, "repo");
    let error = engine
        .approve("git.p.v1", Overwrite::Refuse)
        .expect_err("it could be left half done");
    assert!(matches!(error, ApproveError::NotAtomic), "{error}");
    assert_eq!(refs(&world, "repo"), before);
    engine
        .create(&new("git", "q", "v1", None))
        .expect("one ref is changed at once anyway");
    engine.atomicity = Atomicity::NotRequired;
    engine
        .approve("git.p.v1", Overwrite::Refuse)
        .expect("it is wanted");
    assert!(!refs(&world, "repo").contains("proposed/"));
}

#[test]
fn hooks_of_a_repository_on_this_machine_are_not_run() {
    let Some(world) = world() else { return };
    let location = world.checked_out("repo");
    let marker = world.path("marker");
    for name in [
        "reference-transaction",
        "post-checkout",
        "post-index-change",
        "pre-receive",
        "update",
        "fsmonitor-watchman",
    ] {
        hook(
            &world,
            "repo/.git",
            name,
            &format!("touch {}", marker.display()),
        );
    }
    let fsmonitor = world.path("repo/.git/hooks/fsmonitor-watchman");
    world.git(
        "repo",
        &["config", "core.fsmonitor", &fsmonitor.display().to_string()],
    );
    let _ = std::fs::remove_file(&marker);
    let repositories = world.repositories([RepositoryConfig::new("git", location)]);
    let engine = world.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    publish(&engine, "git.p.v1");
    assert!(!marker.exists());
}

#[test]
fn addresses_and_branches_that_git_could_misunderstand_are_refused() {
    let Some(world) = world() else { return };
    let marker = world.path("marker");
    let touch = format!("touch {}", marker.display());
    for address in [
        format!("--upload-pack={touch}"),
        format!("ext::sh -c '{touch}'"),
        "a\nb".to_owned(),
    ] {
        let config = RepositoryConfig::new("git", Location::Address(address));
        let repositories = world.repositories([config]);
        let error = repositories.get("git").expect_err("it is no address");
        assert!(matches!(error, RepositoryError::Open(_)), "{error}");
    }
    let config = RepositoryConfig {
        branch: "--exec=x".to_owned(),
        ..RepositoryConfig::new("git", world.bare("repo"))
    };
    let repositories = world.repositories([config]);
    assert!(matches!(
        repositories.get("git"),
        Err(RepositoryError::Branch(_))
    ));
    let config = RepositoryConfig::new("git", Location::Path(world.path("nowhere")));
    let repositories = world.repositories([config]);
    let error = repositories.get("git").expect_err("there is none");
    assert!(
        error.to_string().ends_with("nowhere: no such directory"),
        "{error}"
    );
    assert!(!marker.exists());
}

/// Writes a tree object as it is, however bad.
fn make_tree(world: &World, repository: &str, mode: &str, name: &[u8], id: &str) -> String {
    let mut raw = Vec::from(format!("{mode} "));
    raw.extend(name);
    raw.push(0);
    for place in (0..id.len()).step_by(2) {
        raw.push(u8::from_str_radix(&id[place..place + 2], 16).expect("hexadecimal"));
    }
    let file = world.path("raw-tree");
    std::fs::write(&file, raw).expect("it can be written");
    let mut command = Command::new("git");
    command.current_dir(world.path(repository)).args([
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
    let Some(world) = world() else { return };
    let location = world.checked_out("repo");
    world.write(
        "repo",
        "p/Kptfile",
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\n",
    );
    world.commit("repo", "a package");
    let blob = world
        .git("repo", &["rev-parse", "HEAD:README"])
        .trim()
        .to_owned();
    let commit = world.git("repo", &["rev-parse", "HEAD"]).trim().to_owned();
    let repositories = world.repositories([RepositoryConfig::new("git", location)]);
    let repository = repositories.get("git").expect("it can be opened");
    let read = |tree: &str| {
        let output = world.git("repo", &["commit-tree", "-m", "hostile", tree]);
        let commit = kiln_task::git::ObjectId::new(output.trim()).expect("an id");
        repository
            .store
            .read_package(&commit, "")
            .expect_err("it is hostile")
    };
    for name in ["..", ".", ".git", ".GIT", "a\\b", "a\nb"] {
        let tree = make_tree(&world, "repo", "100644", name.as_bytes(), &blob);
        assert!(matches!(read(&tree), ReadPackageError::Path(_)), "{name:?}");
        let inner = make_tree(
            &world,
            "repo",
            "40000",
            name.as_bytes(),
            &make_tree(&world, "repo", "100644", b"x", &blob),
        );
        assert!(
            matches!(read(&inner), ReadPackageError::Path(_)),
            "{name:?}"
        );
    }
    let tree = make_tree(&world, "repo", "100644", b"\xff", &blob);
    assert!(matches!(read(&tree), ReadPackageError::NotText { .. }));
    let tree = make_tree(&world, "repo", "160000", b"module", &commit);
    assert!(matches!(read(&tree), ReadPackageError::Submodule(_)));
    // A few objects that are a great many files.
    let mut tree = make_tree(&world, "repo", "100644", b"f", &blob);
    for _ in 0..40 {
        let entries = format!("040000 tree {tree}\ta\n040000 tree {tree}\tb\n");
        let file = world.path("entries");
        std::fs::write(&file, entries).expect("it can be written");
        let mut command = Command::new("git");
        command.current_dir(world.path("repo")).arg("mktree");
        command.stdin(std::fs::File::open(file).expect("it is there"));
        let output = command.output().expect("git can be started");
        tree = String::from_utf8(output.stdout)
            .expect("an id")
            .trim()
            .to_owned();
    }
    assert!(matches!(read(&tree), ReadPackageError::TooMany { .. }));
    world.write("repo", "p/large", &"x".repeat(2 * 1024 * 1024));
    world.commit("repo", "too large");
    let tree = world.git("repo", &["rev-parse", "HEAD:p"]);
    assert!(matches!(
        read(tree.trim()),
        ReadPackageError::TooLarge { .. }
    ));
}

#[test]
fn refs_with_strange_names_are_passed_over() {
    let Some(world) = world() else { return };
    let location = world.checked_out("repo");
    let head = world.git("repo", &["rev-parse", "HEAD"]).trim().to_owned();
    let packed = format!(
        "# pack-refs with: peeled fully-peeled sorted \n{head} refs/heads/drafts/-x/--y\n{head} refs/tags/-rf/v1\n{head} refs/heads/drafts/alone\n"
    );
    std::fs::write(world.path("repo/.git/packed-refs"), packed).expect("it can be written");
    let repositories = world.repositories([RepositoryConfig::new("git", location)]);
    let repository = repositories.get("git").expect("it can be opened");
    let snapshot = repository.snapshot().expect("it can be read");
    assert!(snapshot.revisions.is_empty());
}

/// Git is killed in the middle of changing refs, and so are we: what it has locked is locked no longer than git waits.
#[test]
fn locks_of_the_dead_are_removed_and_those_of_others_are_not() {
    let Some(world) = world() else { return };
    let location = world.bare("repo");
    let repositories = world.repositories([RepositoryConfig::new("git", location)]);
    let engine = world.engine(&repositories);
    draft(&engine, "git", "p", "v1");
    draft(&engine, "git", "q", "v1");
    let before = refs(&world, "repo");
    let left = ["drafts/p/v1", "proposed/p/v1"].map(|name| format!("refs/heads/{name}"));
    for name in &left {
        world.write("repo", &format!("{name}.lock"), "");
    }
    world.write("repo", "packed-refs.lock", "");
    world.write("repo", "refs/heads/drafts/q/v1.lock", "");
    let id = world.git("repo", &["rev-parse", "drafts/p/v1"]);
    let id = id.trim();
    let [draft, proposal] = &left;
    let said =
        format!("start\ncreate {proposal} {id}\ndelete {draft} {id}\nprepare\ncommit\nstart: ok\n");
    world.write("repo", "kiln-refs", &said);
    let error = engine.propose("git.q.v1").expect_err("somebody is at it");
    assert!(error.to_string().contains("failed to push"), "{error}");
    assert_eq!(refs(&world, "repo"), before);
    assert!(world.path("repo/refs/heads/drafts/q/v1.lock").exists());
    engine.propose("git.p.v1").expect("nobody is at it");
    std::fs::remove_file(world.path("repo/refs/heads/drafts/q/v1.lock")).expect("it is there");
    engine.propose("git.q.v1").expect("nobody is at it");
    assert!(!world.path("repo/kiln-refs").exists());
    assert!(!world.path("repo/packed-refs.lock").exists());
}

/// Git changes refs one after the other, whatever it promises, and can be killed in between.
#[test]
fn what_git_had_begun_to_change_is_changed_to_the_end() {
    let Some(world) = world() else { return };
    let location = world.bare("repo");
    let repositories = world.repositories([RepositoryConfig::new("git", location)]);
    proposal(&world.engine(&repositories), "git", "p", "v1");
    let before = refs(&world, "repo");
    let id = |name: &str| world.git("repo", &["rev-parse", name]).trim().to_owned();
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
            world.write("repo", lock, "");
        }
        if has_tag {
            world.git("repo", &["update-ref", "refs/tags/p/v1", &main]);
        }
        world.write("repo", "kiln-refs", &format!("{transaction}{said}"));
        let repositories = world.repositories(repositories.configs().cloned());
        repositories.get("git").expect("it can be opened");
        let after = refs(&world, "repo");
        assert_eq!(after.contains("refs/tags/p/v1 "), has_tag, "{said}{after}");
        let has_proposal = after.contains("refs/heads/proposed/p/v1 ");
        assert_eq!(has_proposal, !is_finished, "{said}{after}");
        assert!(!world.path("repo/kiln-refs").exists(), "{said}");
        let is_committed = said.contains("commit");
        for lock in locks.map(|lock| world.path("repo").join(lock)) {
            assert_eq!(lock.exists(), is_committed, "{said}");
            let _ = std::fs::remove_file(lock);
        }
        if has_tag && !is_finished {
            world.git("repo", &["tag", "-d", "p/v1"]);
            assert_eq!(refs(&world, "repo"), before);
        }
    }
}

/// A note in a repository that was made by somebody else leads nowhere.
#[test]
fn locks_outside_of_the_repository_are_none_of_ours() {
    let Some(world) = world() else { return };
    let location = world.bare("repo");
    world.write("", "outside/v1.lock", "");
    let old = std::time::SystemTime::UNIX_EPOCH;
    let lock = std::fs::File::options()
        .write(true)
        .open(world.path("outside/v1.lock"));
    lock.and_then(|lock| lock.set_modified(old))
        .expect("it is ours");
    std::os::unix::fs::symlink(world.path("outside"), world.path("repo/refs/heads/drafts"))
        .expect("it can be made");
    let id = "0".repeat(40);
    let said = format!("start\ncreate refs/heads/drafts/v1 {id}\ncreate refs/heads/../x {id}\n");
    world.write("repo", "kiln-refs", &format!("{said}prepare: ok\n"));
    let repositories = world.repositories([RepositoryConfig::new("git", location)]);
    repositories.get("git").expect("it can be opened");
    assert!(world.path("outside/v1.lock").exists());
}
