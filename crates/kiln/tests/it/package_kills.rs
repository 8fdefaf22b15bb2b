//! Commands that are killed while they change a branch that is checked out: the next one finds everything whole.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::packages::GitEnvironment;

/// Git, which at one of its calls takes kiln with it: before its work, after it, or in the middle of writing files.
const GIT: &str = r#"#!/bin/sh
[ -e BASE/count ] || exec GIT "$@"
n=$(cat BASE/count); n=$((n + 1)); echo $n > BASE/count
[ $n -eq "$(cat BASE/at)" ] || exec GIT "$@"
case "$(cat BASE/mode) $*" in
before*) ;;
after*cat-file*) exec GIT "$@" ;;
after*) GIT "$@" ;;
half*read-tree*dry-run*) exec GIT "$@" ;;
half*read-tree*)
    touch BASE/halved; mkdir -p p
    printf 'apiVersion: kpt' > p/Kptfile
    GIT show drafts/base:p/README.md > p/README.md
    rm -f old/gone.yaml ;;
*) exec GIT "$@" ;;
esac
kill -9 $PPID
"#;

#[test]
fn a_killed_approval_leaves_no_files_behind() {
    let Some(git_env) = GitEnvironment::new("a_killed_approval_leaves_no_files_behind") else {
        return;
    };
    let work = git_env.test_env.work();
    let git = git_env.run("command -v git").trim().to_owned();
    git_env.run(
        "git init --quiet -b main base; cd base
        echo hello > README; git add .; git commit --quiet -m first
        kiln rpkg init p --repository base --workspace v1 2>../log
        kiln rpkg propose base.p.v1 2>../log >../log
        git branch drafts/base proposed/p/v1; cd ..",
    );
    let wrapper = git_env.test_env.bin().join("git");
    let script = GIT
        .replace("BASE", &work.display().to_string())
        .replace("GIT", &git);
    fs::write(&wrapper, script).expect("a file");
    fs::set_permissions(&wrapper, fs::Permissions::from_mode(0o755)).expect("a mode");
    // How many calls there are.
    git_env.run(
        "cp -a base whole; echo 0 > count; echo 0 > at; echo before > mode
        cd whole; kiln rpkg approve whole.p.v1 >../log 2>&1",
    );
    let calls: usize = git_env
        .run("cat count; rm count")
        .trim()
        .parse()
        .expect("a number");
    let whole = git_env.run("cd whole; git status --porcelain; ls p .git");
    assert!(
        whole.contains("Kptfile") && !whole.contains("kiln-"),
        "{whole}"
    );
    assert!(calls > 8, "{calls}");
    let (mut done, mut undone) = (0, 0);
    for mode in ["before", "after", "half"] {
        for at in 1..=calls {
            let script = format!(
                "rm -rf site; cp -a base site; echo 0 > count; echo {at} > at; echo {mode} > mode
                (cd site; kiln rpkg approve site.p.v1 >../log 2>&1) || true; rm count
                kiln rpkg get --repo site > listed
                cd site; git status --porcelain; ls .git | grep -e kiln -e lock || true"
            );
            let left = git_env.run(&script);
            assert_eq!(left, "", "{mode} call {at}");
            let refs =
                git_env.run("cd site; git for-each-ref --format='%(refname)' | grep -v base");
            match refs.as_str() {
                "refs/heads/main\nrefs/tags/p/v1\n" => {
                    let files = git_env.run("cd site; git diff HEAD --stat; ls p");
                    assert_eq!(files, "Kptfile\nREADME.md\npackage-context.yaml\n");
                    done += 1;
                }
                "refs/heads/main\nrefs/heads/proposed/p/v1\n" => {
                    assert!(!work.join("site/p").exists(), "{mode} call {at}");
                    git_env.run(
                        "cd site; kiln rpkg approve site.p.v1 >../log 2>&1; test -f p/Kptfile",
                    );
                    undone += 1;
                }
                other => panic!("{mode} call {at}: {other}"),
            }
        }
    }
    assert!(done > 3 && undone > 3, "{done} {undone}");
    assert!(work.join("halved").exists(), "no files were half way");
}

/// What a person did between the kill and the next command stays.
#[test]
fn what_a_person_did_meanwhile_stays() {
    let Some(git_env) = GitEnvironment::new("what_a_person_did_meanwhile_stays") else {
        return;
    };
    git_env.run(
        "git init --quiet -b main site; cd site
        echo hello > README; git add .; git commit --quiet -m first
        kiln rpkg init p --repository site --workspace v1 2>../log
        kiln rpkg propose site.p.v1 >../log 2>&1
        kiln rpkg approve site.p.v1 >../log 2>&1
        old=$(git rev-parse main~1) new=$(git rev-parse main)
        # As if the files had not been written, and the user had begun to write others.
        git read-tree $old; rm -r p; mkdir p; echo mine > p/Kptfile; echo other > note
        printf 'refs/heads/main\\n%s\\n%s\\n%s\\n' $old $new \"$PWD\" > .git/kiln-checkout",
    );
    let status = git_env.run("kiln repo register site; kiln repo sync site; cd site; git status --porcelain; cat p/Kptfile; ls .git | grep kiln || true");
    assert_eq!(
        status,
        "site synced: 2 package revision(s)\n M p/Kptfile\n?? note\nmine\n"
    );
    // The user has changed it since, so it is kept.
    git_env.run(
        "cd site; git checkout --quiet p/Kptfile
        printf 'refs/heads/main\\n%s\\n%s\\n%s\\n' $(git rev-parse main~1) $(git rev-parse main) \"$PWD\" > .git/kiln-checkout
        git rm -r --quiet p; git commit --quiet -m gone; kiln repo sync site > ../log
        test ! -e p; test ! -e .git/kiln-checkout; test -z \"$(git status --porcelain -uno)\"",
    );
}
