//! `kiln pkg update`: what it refuses to overwrite, what it prints, and upstreams of unusual shapes.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

use crate::faults::skip;
use crate::pkg::{shell, succeed, upstream};
use crate::test_environment::{Outcome, TestEnvironment, files};

/// `upstream()` with the package `web` of v1, committed to a repository of its own in the working directory.
fn committed() -> Option<TestEnvironment> {
    let test_env = upstream()?;
    succeed(
        &test_env,
        "kiln pkg get file://$PWD/r/up.git/web@v1 && git init -q . && git add web && git commit -qm web",
    );
    Some(test_env)
}

/// Publishes a change of `web` as a version.
#[track_caller]
fn publish(test_env: &TestEnvironment, change: &str, tag: &str) {
    let script = format!(
        "set -e; cd up; {change}; git add -A; git commit -qm {tag}; git tag {tag}; git push -q origin main {tag}"
    );
    succeed(test_env, &script);
}

#[track_caller]
fn refuse(test_env: &TestEnvironment, script: &str, words: &str) -> Outcome {
    let before = files(&test_env.work());
    let refused = shell(test_env, script);
    assert_eq!(refused.code, Some(1), "{script}: {refused:?}");
    assert!(refused.stderr.contains(words), "{script}: {refused:?}");
    assert_eq!(files(&test_env.work()), before, "{script}");
    refused
}

/// Regression: only modified files were protected, so that untracked and ignored ones were lost.
#[test]
fn untracked_files_are_not_overwritten() {
    let Some(test_env) = committed() else { return };
    publish(&test_env, "echo theirs > web/mine.txt", "v4");
    succeed(&test_env, "echo mine > web/mine.txt");
    let words = "web has uncommitted changes: mine.txt\nhint: commit or stash";
    let replace = "kiln pkg update web@v2 --strategy force-delete-replace";
    refuse(&test_env, replace, words);
    let copy = "kiln pkg update web@v4 --strategy copy-merge";
    refuse(&test_env, copy, words);
    succeed(&test_env, "echo mine.txt > .gitignore");
    refuse(&test_env, replace, words);
    succeed(&test_env, &format!("{copy} --force"));
    assert_eq!(files(&test_env.work())["web/mine.txt"], "theirs\n");
}

/// A package that is not in git at all is the user's own affair, and one that is only new files is not touched.
#[test]
fn packages_outside_of_git_are_updated() {
    let Some(test_env) = upstream() else { return };
    succeed(
        &test_env,
        "kiln pkg get file://$PWD/r/up.git/web@v1 && kiln pkg update web@v2",
    );
    succeed(
        &test_env,
        "rm -r web; git init -q .; touch other; git add other; git commit -qm other
         kiln pkg get file://$PWD/r/up.git/web@v1 && kiln pkg update web@v2",
    );
}

/// Regression: a git that failed counted as one that shows no changes.
#[test]
fn an_update_stops_if_git_does_not_know() {
    let Some(test_env) = committed() else { return };
    succeed(
        &test_env,
        "sed -i 's/paused: false/paused: true/' web/deploy.yaml; echo damaged > .git/index",
    );
    let refused = refuse(
        &test_env,
        "kiln pkg update web@v2",
        "error: cannot list uncommitted changes: git ls-files failed: ",
    );
    assert!(refused.stderr.contains("or pass --force"), "{refused:?}");
    succeed(&test_env, "kiln pkg update web@v2 --force");
}

/// Regression: a variable of the caller selected another repository, or none.
#[test]
fn variables_about_repositories_do_not_hide_changes() {
    let Some(test_env) = committed() else { return };
    succeed(
        &test_env,
        "git worktree add -q --detach linked
         for web in web linked/web; do sed -i 's/paused: false/paused: true/' $web/deploy.yaml; done",
    );
    for variables in [
        "GIT_DIR=.git",
        "GIT_DIR=$PWD/.git",
        "GIT_DIR=$PWD/up/.git",
        "GIT_DIR=.git GIT_INDEX_FILE=.git/index",
        "GIT_DIR=$PWD/.git/worktrees/linked GIT_INDEX_FILE=$PWD/.git/worktrees/linked/index GIT_PREFIX=",
        "GIT_WORK_TREE=$PWD/up",
        "GIT_CEILING_DIRECTORIES=$PWD",
        "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.worktree GIT_CONFIG_VALUE_0=$PWD/up",
    ] {
        for web in ["web", "linked/web"] {
            let script = format!("{variables} kiln pkg update {web}@v2");
            // Only the edited file: the variables of a linked work tree made all others look changed.
            let words = "web has uncommitted changes: deploy.yaml\nhint: commit or stash";
            refuse(&test_env, &script, words);
        }
    }
    // In a hook of a linked work tree, as git sets the variables.
    succeed(
        &test_env,
        "mkdir hooks; printf '#!/bin/sh\\ncd \"$WEB/..\" && kiln pkg update web@v2\\n' > hooks/pre-commit; chmod +x hooks/pre-commit
         git config core.hooksPath $PWD/hooks",
    );
    let commit = "export WEB=$PWD/linked/web; cd linked; git commit -qm new --allow-empty";
    refuse(
        &test_env,
        commit,
        "web has uncommitted changes: deploy.yaml\nhint: commit or stash",
    );
}

/// Regression: git ran filters that the settings of the repository name.
#[test]
fn the_filters_of_a_repository_are_not_run() {
    let Some(test_env) = committed() else { return };
    succeed(
        &test_env,
        "git config filter.evil.clean \"touch $PWD/ran; cat\"; git config filter.evil.required true
         echo '* filter=evil' > .git/info/attributes; touch -d 2001-01-01 web/*
         kiln pkg update web@v2 && test ! -e ran",
    );
}

#[test]
fn a_git_that_cannot_be_used_protects_all_changes() {
    let Some(test_env) = committed() else { return };
    let git = "mkdir stand-in; real=$(command -v git)
        printf '#!/bin/sh\\ncase $1 in status) echo broken >&2; exit 128;; esac\\nexec %s \"$@\"\\n' $real > stand-in/git
        chmod +x stand-in/git";
    succeed(&test_env, git);
    let update = "PATH=$PWD/stand-in:$PATH kiln pkg update web@v2";
    refuse(
        &test_env,
        update,
        "error: cannot list uncommitted changes: git status failed: broken\nhint: make `git status` work here, or pass --force",
    );
}

/// Regression: the suggested command named the package without its directory and without quotes.
#[test]
fn the_check_suggests_commands_that_work() {
    let Some(test_env) = upstream() else { return };
    succeed(
        &test_env,
        "mkdir 'my apps'; kiln pkg get file://$PWD/r/up.git/web@v1 'my apps/shop'",
    );
    let check = |script: &str, suggested: &str| {
        let checked = shell(&test_env, script);
        assert_eq!(checked.code, Some(3), "{checked:?}");
        let words = format!("update with `{suggested}`\n");
        assert!(checked.stderr.ends_with(&words), "{checked:?}");
    };
    check(
        "kiln pkg update 'my apps/shop' --check",
        "kiln pkg update 'my apps/shop@v2'",
    );
    let inside = "cd 'my apps/shop'; kiln pkg update";
    check(&format!("{inside} --check"), "kiln pkg update .@v2");
    succeed(&test_env, &format!("{inside} .@v2"));
}

/// Regression: `--check` looked at the package itself only.
#[test]
fn the_check_includes_remote_sub_packages() {
    let Some(test_env) = upstream() else { return };
    succeed(
        &test_env,
        "kiln pkg init shop && kiln pkg get file://$PWD/r/up.git/web@main shop/web
         cd up; mkdir shop; cp -r ../shop/* shop; git add -A; git commit -qm shop; git tag v4; git push -q origin main v4
         cd ..; rm -r shop; kiln pkg get file://$PWD/r/up.git/shop@v4 && kiln pkg update shop",
    );
    let check = || shell(&test_env, "kiln pkg update shop --check");
    let same = check();
    assert_eq!(same.stderr, "shop is up to date\n");
    publish(&test_env, "echo more >> web/run.sh", "other");
    let newer = check();
    assert_eq!(newer.code, Some(3), "{newer:?}");
    assert!(
        newer.stderr.starts_with("shop/web: main is at "),
        "{newer:?}"
    );
    assert_eq!(newer.stderr.lines().count(), 1, "{newer:?}");
    succeed(&test_env, "kiln pkg update shop");
    assert_eq!(check().stderr, "shop is up to date\n");
}

/// Regression: no strategy could take such a version.
#[test]
fn a_file_becomes_a_directory_and_the_reverse() {
    let Some(test_env) = upstream() else { return };
    publish(
        &test_env,
        "echo one > web/thing; mkdir web/x; echo f > web/x/f",
        "v4",
    );
    publish(
        &test_env,
        "rm web/thing; mkdir web/thing; echo two > web/thing/f; rm -r web/x; echo file > web/x",
        "v5",
    );
    for (strategy, program) in [
        ("resource-merge", "kiln"),
        ("force-delete-replace", "kiln"),
        ("resource-merge", "kpt"),
    ] {
        succeed(
            &test_env,
            &format!(
                "rm -rf web; kiln pkg get file://$PWD/r/up.git/web@v4 && {program} pkg update web@v5 --strategy {strategy}"
            ),
        );
        let files = files(&test_env.work().join("web"));
        let found = ["thing/f", "x"].map(|path| files[path].as_str());
        assert_eq!(found, ["two\n", "file\n"], "{strategy}");
    }
    // What is in the way of a change that cannot be made comes back.
    succeed(
        &test_env,
        "rm -rf web; kiln pkg get file://$PWD/r/up.git/web@v4; mkdir web/x/.git; touch web/x/.git/own",
    );
    let before = files(&test_env.work().join("web"));
    let failed = shell(&test_env, "kiln pkg update web@v5");
    assert_eq!(failed.code, Some(1), "{failed:?}");
    assert_eq!(files(&test_env.work().join("web")), before);
}

/// Regression: `Updated 1 package(s).` was printed before anything was written, and no file was named.
#[test]
fn the_last_line_says_what_was_written() {
    let Some(test_env) = committed() else { return };
    let last = |outcome: &Outcome| outcome.stderr.lines().last().unwrap_or_default().to_owned();
    let preview = succeed(&test_env, "kiln pkg update web@v2 --dry-run");
    let [would, dry] = [
        "\nWould change 2 files: Kptfile, deploy.yaml\n",
        "\nDry run: nothing was written.\n",
    ];
    assert!(preview.stderr.contains(would), "{preview:?}");
    assert!(preview.stderr.ends_with(dry), "{preview:?}");
    let updated = succeed(&test_env, "kiln pkg update web@v2");
    assert_eq!(last(&updated), "Changed 2 files: Kptfile, deploy.yaml");
    let again = succeed(&test_env, "kiln pkg update web@v2 --force");
    assert_eq!(last(&again), "No changes.");
    for outcome in [&preview, &updated, &again] {
        assert!(!outcome.stderr.contains("package(s)"), "{outcome:?}");
    }
    publish(&test_env, "chmod +x web/deploy.yaml", "v4");
    let mode = succeed(
        &test_env,
        "git commit -qam v2; kiln pkg update web@v4 --dry-run",
    );
    assert!(
        mode.stdout.contains("old mode 100644\nnew mode 100755\n"),
        "{mode:?}"
    );
    assert!(
        mode.stderr
            .contains("Would change 2 files: Kptfile, deploy.yaml (mode)\n"),
        "{mode:?}"
    );
    let kpt = succeed(&test_env, "kpt pkg update web@v4");
    assert!(kpt.stderr.ends_with("\nUpdated 1 package(s).\n"), "{kpt:?}");
}

#[test]
fn a_failed_init_does_not_print_what_it_would_write() {
    let test_env = TestEnvironment::new();
    test_env.write("file", "");
    let path = test_env.work().join("file").display().to_string();
    let failed = shell(&test_env, "kiln pkg init file");
    let words = format!("error: {path} is a file, not the directory of a package\n");
    assert_eq!((failed.code, failed.stderr), (Some(1), words));
    let failed = shell(&test_env, "kpt pkg init file");
    let words = format!("writing file/Kptfile\nerror: open {path}/Kptfile: not a directory\n");
    assert_eq!((failed.code, failed.stderr), (Some(1), words));
}

/// Regression: a repository with a submodule could not be fetched.
#[test]
fn submodules_are_left_out() {
    let Some(test_env) = upstream() else { return };
    succeed(
        &test_env,
        "set -e; cd up; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),web/vendor
         git commit -qm sub; git tag v4; git push -q origin v4",
    );
    let got = succeed(&test_env, "kiln pkg get file://$PWD/r/up.git/web@v4");
    let warning = "[Warn] Ignoring submodule \"vendor\"\n";
    assert!(got.stderr.contains(warning), "{got:?}");
    succeed(
        &test_env,
        "set -e; test -f web/Kptfile; ! test -e web/vendor; kpt pkg get file://$PWD/r/up.git/web@v4 kpt",
    );
}

/// Regression: such a package was fetched until its path was too long, a thousand times and more.
#[test]
fn a_package_that_includes_itself_is_refused() {
    let Some(test_env) = upstream() else { return };
    publish(
        &test_env,
        "mkdir web/s web/t; for d in s t; do printf 'apiVersion: kpt.dev/v1\\nkind: Kptfile\\nmetadata:\\n  name: x\\nupstream:\\n  type: git\\n  git:\\n    repo: file://%s/r/up\\n    directory: /web\\n    ref: v4\\n' \"$(dirname \"$PWD\")\" > web/$d/Kptfile; done",
        "v4",
    );
    let words = "includes itself: its upstream is that of a package around it";
    refuse(&test_env, "kiln pkg get file://$PWD/r/up.git/web@v4", words);
    succeed(&test_env, "kiln pkg get file://$PWD/r/up.git/web@v1");
    refuse(&test_env, "kiln pkg update web@v4", "includes itself");
}

#[test]
fn versions_and_directories_of_unusual_names() {
    let Some(test_env) = upstream() else { return };
    succeed(
        &test_env,
        "set -e; kiln pkg get file://$PWD/r/up.git/web@HEAD head; grep -q \"commit: $(git -C up rev-parse main)\" head/Kptfile
         kiln pkg get file://$PWD/r/up.git/web@v1 a@b; kiln pkg update a@b@v2; kiln pkg diff a@b
         git init -q --bare empty.git",
    );
    for (script, words) in [
        (
            "kiln pkg get file://$PWD/empty.git x",
            "unable to detect default branch in repo\nhint: the repository may be empty",
        ),
        (
            "kiln pkg get file://$PWD/r/up.git/none@v1",
            "/r/up\" at \"v1\"\nhint: check the directory",
        ),
        (
            "sed -i 's|directory: /web|directory: /../../etc|' head/Kptfile; kiln pkg update head",
            "directory \"/../../etc\" of the upstream leads out of the repository",
        ),
        ("kiln pkg update head@v1@v2", "at most 1 version permitted"),
    ] {
        let failed = shell(&test_env, script);
        assert_ne!(failed.code, Some(0), "{script}: {failed:?}");
        assert!(failed.stderr.contains(words), "{script}: {failed:?}");
    }
}

/// Regression: the cache was a directory with a name that everyone knows, and git ran what its settings name.
#[test]
fn a_cache_of_another_user_is_refused() {
    let Some(test_env) = upstream() else { return };
    let temporary = test_env.work().join("tmp");
    let get = "env -u HOME TMPDIR=$PWD/tmp kiln pkg get file://$PWD/r/up.git/web@v1";
    let script = format!("mkdir -m 1777 tmp; GIT_CONFIG_GLOBAL=/dev/null {get} one");
    succeed(&test_env, &script);
    let caches: Vec<_> = std::fs::read_dir(&temporary).unwrap().flatten().collect();
    let [cache] = &caches[..] else {
        panic!("{caches:?}")
    };
    assert_eq!(
        cache.metadata().unwrap().permissions().mode() & 0o777,
        0o700
    );
    let open = std::fs::Permissions::from_mode(0o777);
    std::fs::set_permissions(cache.path(), open).unwrap();
    refuse(
        &test_env,
        &format!("{get} two"),
        "is writable by other users\nhint: set HOME or XDG_CACHE_HOME",
    );

    if test_env.work().metadata().unwrap().uid() != 0 {
        skip("cache of another user", "only root can give files away");
        return;
    }
    let program = "touch pwned; git-upload-pack";
    succeed(
        &test_env,
        &format!(
            "kiln pkg get file://$PWD/r/up.git/web@v1 own; cd $HOME/.cache/kiln/git/*.packages
             git config -f config remote.origin.uploadpack '{program}'; rm -rf objects/??; chown -R 65534 ."
        ),
    );
    let foreign = refuse(
        &test_env,
        "kiln pkg get file://$PWD/r/up.git/web@v2 two",
        "belongs to another user (uid 65534)",
    );
    assert!(
        foreign.stderr.contains("hint: remove it, or name"),
        "{foreign:?}"
    );
}
