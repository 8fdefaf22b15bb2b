//! `kiln rpkg` and `kiln repo`, with real git.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::faults::skip;
use crate::test_environment::TestEnvironment;

/// Two registered bare repositories; `None` if git is not installed.
pub(crate) struct GitEnvironment {
    pub(crate) test_env: TestEnvironment,
}

impl GitEnvironment {
    pub(crate) fn new(test: &str) -> Option<GitEnvironment> {
        let git_env = GitEnvironment {
            test_env: TestEnvironment::new(),
        };
        if git_env
            .test_env
            .shell(&git_env.test_env.work(), "git --version", &[])
            .code
            != Some(0)
        {
            skip(test, "git is not there");
            return None;
        }
        git_env.run(
            "git config --global user.name Tester; git config --global user.email tester@example.com
            git init --quiet --bare up.git; git init --quiet --bare down.git
            kiln repo register up.git --create-branch
            kiln repo register down.git --deployment --create-branch",
        );
        Some(git_env)
    }

    /// Runs a script that must succeed; returns its standard output.
    #[track_caller]
    pub(crate) fn run(&self, script: &str) -> String {
        let script = format!("set -euo pipefail\n{script}");
        let ran = self.test_env.shell(&self.test_env.work(), &script, &[]);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        ran.stdout
    }

    /// Runs a command that must fail; returns its standard error.
    #[track_caller]
    pub(crate) fn fail(&self, script: &str) -> String {
        let ran = self.test_env.shell(&self.test_env.work(), script, &[]);
        assert!(
            matches!(ran.code, Some(1 | 2)),
            "{}{}",
            ran.stdout,
            ran.stderr
        );
        ran.stderr
    }

    /// Publishes a package with one ConfigMap.
    pub(crate) fn publish(&self) {
        self.run(
            "kiln rpkg init p --repository up --workspace v1
            kiln rpkg pull up.p.v1 p
            printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata:\\n  name: c\\ndata:\\n  k: one\\n' > p/c.yaml
            kiln rpkg push up.p.v1 p 2> log
            kiln rpkg propose up.p.v1; kiln rpkg approve up.p.v1",
        );
    }
}

#[test]
fn the_life_of_a_revision() {
    let Some(git_env) = GitEnvironment::new("the_life_of_a_revision") else {
        return;
    };
    assert_eq!(
        git_env.run("kiln rpkg init p --repository up --workspace v1"),
        "up.p.v1 created\n"
    );
    assert_eq!(
        git_env.run("kiln rpkg propose up.p.v1"),
        "up.p.v1 proposed\n"
    );
    assert_eq!(
        git_env.run("kiln rpkg propose up.p.v1 2>&1"),
        "up.p.v1 is already proposed\n"
    );
    assert_eq!(
        git_env.run("kiln rpkg reject up.p.v1"),
        "up.p.v1 no longer proposed for approval\n"
    );
    assert_eq!(
        git_env.fail("kiln rpkg approve up.p.v1"),
        "up.p.v1 failed (cannot change approval from Draft to Published)\n\
         error: errors:\n  cannot change approval from Draft to Published\n\
         hint: propose the draft first, with `kiln rpkg propose`\n"
    );
    git_env.run("kiln rpkg propose up.p.v1");
    assert_eq!(
        git_env.run("kiln rpkg approve up.p.v1"),
        "up.p.v1 approved\n"
    );
    assert_eq!(
        git_env.run("kiln rpkg get --repo up"),
        "NAME        PACKAGE   WORKSPACENAME   REVISION   LATEST   LIFECYCLE   REPOSITORY\n\
         up.p.main   p         main            -1         false    Published   up\n\
         up.p.v1     p         v1              1          true     Published   up\n"
    );
    assert_eq!(
        git_env.run("git --git-dir up.git for-each-ref --format='%(refname)'"),
        "refs/heads/main\nrefs/tags/p/v1\n"
    );
    let text = git_env.fail("kiln rpkg del up.p.v1");
    assert!(
        text.contains("published PackageRevisions must be proposed for deletion"),
        "{text}"
    );
    assert_eq!(
        git_env.run("kiln rpkg propose-delete up.p.v1; kiln rpkg reject up.p.v1"),
        "up.p.v1 proposed for deletion\nup.p.v1 no longer proposed for deletion\n"
    );
    assert_eq!(
        git_env.run("kiln rpkg propose-del up.p.v1; kiln rpkg delete up.p.v1"),
        "up.p.v1 proposed for deletion\nup.p.v1 deleted\n"
    );
}

#[test]
fn files_of_all_kinds_survive_pull_and_push() {
    let Some(git_env) = GitEnvironment::new("files_of_all_kinds_survive_pull_and_push") else {
        return;
    };
    git_env.run(
        "kiln rpkg init p --repository up --workspace v1
        kiln rpkg pull up.p.v1 one
        printf '#!/bin/sh\\n' > one/run; chmod +x one/run; ln -s run one/link
        printf '\\377\\000\\001' > one/binary
        kiln rpkg push up.p.v1 one 2>log
        kiln rpkg pull up.p.v1 two",
    );
    let two = git_env.test_env.work().join("two");
    let mode = fs::metadata(two.join("run"))
        .expect("a file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o755);
    assert_eq!(
        fs::read_link(two.join("link")).expect("a link").as_os_str(),
        "run"
    );
    assert_eq!(fs::read(two.join("binary")).expect("a file"), [0xff, 0, 1]);
    // What was pulled before is refused now, and a directory that is there is not written to.
    git_env.run("echo x > one/x; kiln rpkg push up.p.v1 two 2>log");
    let text = git_env.fail("kiln rpkg push up.p.v1 one");
    assert!(
        text.contains("the object has been modified; please apply your changes"),
        "{text}"
    );
    assert!(
        git_env
            .fail("kiln rpkg pull up.p.v1 two")
            .contains("already exists")
    );
    git_env.run("rm two/.KptRevisionMetadata");
    let text = git_env.fail("kiln rpkg push up.p.v1 two");
    assert!(
        text.contains("use \"kiln rpkg pull\" to download"),
        "{text}"
    );
}

#[test]
fn a_list_is_pulled_and_pushed() {
    let Some(git_env) = GitEnvironment::new("a_list_is_pulled_and_pushed") else {
        return;
    };
    git_env.publish();
    let out = git_env.run(
        "kiln rpkg copy up.p.v1 --workspace v2 2>log
        kiln rpkg pull up.p.v2 | sed 's/k: one/k: two/' | kiln rpkg push up.p.v2 - 2>log
        kiln rpkg diff up.p.v1 up.p.v2",
    );
    assert!(out.ends_with(" data:\n-  k: one\n+  k: two\n"), "{out}");
    let text = git_env.fail(
        "kiln rpkg pull up.p.v2 | sed \"s|path: 'c.yaml'|path: '../c.yaml'|\" | kiln rpkg push up.p.v2 -",
    );
    assert!(
        text.contains("invalid relative path \"../c.yaml\""),
        "{text}"
    );
}

#[test]
fn a_hostile_package_runs_nothing() {
    let Some(git_env) = GitEnvironment::new("a_hostile_package_runs_nothing") else {
        return;
    };
    git_env.publish();
    git_env.run(
        "kiln rpkg copy up.p.v1 --workspace v2 2>log; kiln rpkg pull up.p.v2 x
        printf 'pipeline:\\n  mutators:\\n    - exec: touch hacked\\n' >> x/Kptfile",
    );
    let text = git_env.fail("kiln rpkg push up.p.v2 x");
    assert!(
        text.contains(
            "Error rendering package in kpt function pipeline. Package NOT pushed to remote."
        ),
        "{text}"
    );
    assert!(!git_env.test_env.work().join("hacked").exists());
    // Asked for, it is pushed, and fails all the same.
    let text = git_env.fail("kiln rpkg push up.p.v2 x --push-on-render-failure");
    assert!(
        text.contains("Package pushed to remote despite render failure."),
        "{text}"
    );
    let text = git_env.fail("kiln rpkg propose up.p.v2");
    assert!(text.contains("exec"), "{text}");
    assert!(!git_env.test_env.work().join("hacked").exists());
}

#[test]
fn an_upgrade_reports_its_conflicts() {
    let Some(git_env) = GitEnvironment::new("an_upgrade_reports_its_conflicts") else {
        return;
    };
    git_env.publish();
    git_env.run(
        "kiln rpkg clone up.p.v1 q --repository down 2>log
        kiln rpkg pull down.q.v1 q; sed -i 's/one/mine/' q/c.yaml; kiln rpkg push down.q.v1 q 2>log
        kiln rpkg propose down.q.v1 2>log; kiln rpkg approve down.q.v1
        kiln rpkg copy up.p.v1 --workspace v2 2>log
        kiln rpkg pull up.p.v2 p2; sed -i 's/one/two/' p2/c.yaml; kiln rpkg push up.p.v2 p2 2>log
        kiln rpkg propose up.p.v2 2>log; kiln rpkg approve up.p.v2",
    );
    assert_eq!(
        git_env.run("kiln rpkg upgrade --discover upstream down.q.v1"),
        "PACKAGE REVISION   UPSTREAM REPOSITORY   UPSTREAM UPDATES\n\
         down.q.v1          up                    v2\n"
    );
    let downstream = git_env.run("kiln rpkg upgrade --discover=downstream up.p.v2");
    assert!(
        downstream.ends_with("up.p.v2            down.q.v1            v1->v2\n"),
        "{downstream}"
    );
    let out = git_env.run("kiln rpkg upgrade down.q.v1 --workspace v2 2>log");
    assert_eq!(out, "down.q.v1 upgraded to down.q.v2\n");
    let log = git_env.run("cat log");
    let conflict = "[WARN] conflict in c.yaml: ConfigMap c: data.k: was one, local has mine, upstream has two; upstream taken\n";
    assert!(log.contains(conflict), "{log}");
    let text = git_env.fail("kiln rpkg upgrade down.q.v1 --workspace v3 --revision 7");
    assert_eq!(
        text,
        "error: revision 7 does not exist for package p in repo up\n"
    );
    let text = git_env.fail("kiln rpkg upgrade down.q.v1 --workspace v3 --strategy x");
    assert_eq!(
        text,
        "error: invalid strategy \"x\"; must be one of: [resource-merge fast-forward force-delete-replace copy-merge]\n"
    );
    let text = git_env.fail("kiln rpkg upgrade down.q.v2 --workspace v3");
    assert_eq!(
        text,
        "error: to upgrade a package, it must be in a published state, not \"Draft\"\n\
         hint: publish it with `kiln rpkg propose down.q.v2` and `kiln rpkg approve down.q.v2`\n"
    );
}

#[test]
fn metadata_of_a_draft_is_set_and_unset() {
    let Some(git_env) = GitEnvironment::new("metadata_of_a_draft_is_set_and_unset") else {
        return;
    };
    let kptfile = git_env.run(
        "kiln rpkg init p --repository up --workspace v1
        kiln rpkg update up.p.v1 --label a=1 --label b=2 --annotation x=z --readiness-gate G --condition G=False,R,m
        kiln rpkg update up.p.v1 --label a- --condition G=True
        kiln rpkg get up.p.v1 --show-kptfile",
    );
    for line in [
        "    b: \"2\"\n",
        "    x: z\n",
        "conditionType: G\n",
        "status: \"True\"\n",
    ] {
        assert!(kptfile.contains(line), "{line}{kptfile}");
    }
    assert!(!kptfile.contains("    a: "), "{kptfile}");
    let json = git_env.run("kiln rpkg get up.p.v1 -o json");
    let object: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(object["kind"], "PackageRevision");
    assert_eq!(object["spec"]["packageMetadata"]["labels"]["b"], "2");
    assert_eq!(object["spec"]["tasks"][0]["type"], "init");
    let yaml = git_env.run("kiln rpkg get up.p.v1 -o yaml");
    assert!(
        yaml.starts_with("apiVersion: porch.kpt.dev/v1alpha1\nkind: PackageRevision\n"),
        "{yaml}"
    );
}

#[test]
fn repositories_have_names() {
    let Some(git_env) = GitEnvironment::new("repositories_have_names") else {
        return;
    };
    let table = git_env.run("kiln repo get | tr -s ' '");
    assert!(
        table.starts_with("NAME TYPE DEPLOYMENT ADDRESS BRANCH DIRECTORY\ndown git true /"),
        "{table}"
    );
    assert!(
        git_env
            .fail("kiln repo register up.git")
            .contains("already exists")
    );
    assert_eq!(
        git_env.run("kiln repo sync up"),
        "up synced: 0 package revision(s)\n"
    );
    git_env.run("kiln repo unreg up");
    assert_eq!(
        git_env.fail("kiln repo sync up"),
        "error: cannot find repository \"up\"\nhint: `kiln repo get` lists the registered repositories\n"
    );
    let text = git_env.fail("kiln repo register https://ann:secret@example.com/x.git");
    assert!(text.contains("password"), "{text}");
    // One that has no name is named after its directory.
    let out = git_env.run("git init --quiet 'My Work'; cd 'My Work'; kiln rpkg init p --workspace v1 --repository my-work");
    assert_eq!(out, "my-work.p.v1 created\n");
    let text = git_env.fail("kiln rpkg get nowhere.p.v1");
    assert!(
        text.starts_with("error: cannot find repository \"nowhere\"\nhint: "),
        "{text}"
    );
}

#[test]
fn words_are_porchctls() {
    let Some(git_env) = GitEnvironment::new("words_are_porchctls") else {
        return;
    };
    for (arguments, message) in [
        ("init", "PACKAGE_NAME is a required positional argument"),
        (
            "init p",
            "--repository is required to specify target repository",
        ),
        (
            "init p --repository up",
            "--workspace is required to specify workspace name",
        ),
        (
            "clone a",
            "SOURCE_PACKAGE and NAME are required positional arguments; 1 provided",
        ),
        (
            "clone a b",
            "--repository is required to specify downstream repository",
        ),
        (
            "clone https://x/y.git/a@v1 b --repository up --directory c",
            "directory c specified by --directory contradicts directory a specified by SOURCE_PACKAGE",
        ),
        ("copy", "SOURCE_PACKAGE is a required positional argument"),
        (
            "upgrade x --workspace w --revision -1",
            "revision must be positive (and not main)",
        ),
        ("upgrade x", "workspace is required"),
        (
            "upgrade --discover x",
            "argument for 'discover' must be one of 'upstream' or 'downstream'",
        ),
        (
            "get --show-kptfile",
            "--show-kptfile requires exactly one package revision name as an argument",
        ),
        (
            "init p --repository nowhere --workspace w",
            "cannot find repository \"nowhere\"",
        ),
    ] {
        let text = git_env.fail(&format!("kiln rpkg {arguments}"));
        let first = text.lines().next();
        assert_eq!(
            first,
            Some(format!("error: {message}").as_str()),
            "{arguments}"
        );
    }
}

/// Unknown fields of a Kptfile are kept by every command, with a warning, because they may be misspelt.
#[test]
fn fields_that_kptfiles_do_not_have_are_kept() {
    let Some(git_env) = GitEnvironment::new("fields_that_kptfiles_do_not_have_are_kept") else {
        return;
    };
    let has_them = |revision: &str| {
        let kptfile = git_env.run(&format!("kiln rpkg get {revision} --show-kptfile"));
        for line in [
            "  owner: them # since ever\n",
            "custom:\n",
            "note: why",
            "kept",
        ] {
            assert!(kptfile.contains(line), "{revision}: {line}{kptfile}");
        }
    };
    git_env.publish();
    git_env.run(
        "kiln rpkg copy up.p.v1 --workspace v2 2>log; kiln rpkg pull up.p.v2 two
        sed -i 's/^info:/info:\\n  owner: them # since ever/' two/Kptfile
        printf 'custom:\\n  x: 1 # kept\\npipeline:\\n  mutators:\\n    - image: set-labels:v0.2.0\\n      note: why\\n      configMap:\\n        a: b\\n' >> two/Kptfile
        kiln rpkg push up.p.v2 two 2>log",
    );
    let log = git_env.run("cat log");
    assert!(
        log.contains("[WARN] Kptfile:8: unknown field \"owner\"; ")
            && log.contains("unknown field \"custom\"; the fields here are apiVersion, "),
        "{log}"
    );
    has_them("up.p.v2");
    git_env.run(
        "kiln rpkg update up.p.v2 --label a=b --readiness-gate G --condition G=True 2>log
        kiln rpkg propose up.p.v2 2>log; kiln rpkg approve up.p.v2
        kiln rpkg copy up.p.v2 --workspace v3 2>log
        kiln rpkg clone up.p.v2 q --repository down 2>log
        kiln rpkg propose down.q.v1 2>log; kiln rpkg approve down.q.v1
        kiln rpkg pull up.p.v3 three; sed -i 's/k: one/k: three/' three/c.yaml; kiln rpkg push up.p.v3 three 2>log
        kiln rpkg propose up.p.v3 2>log; kiln rpkg approve up.p.v3",
    );
    for revision in ["up.p.v2", "up.p.v3", "down.q.v1"] {
        has_them(revision);
    }
    for strategy in [
        "resource-merge",
        "fast-forward",
        "force-delete-replace",
        "copy-merge",
    ] {
        git_env.run(&format!(
            "kiln rpkg upgrade down.q.v1 --workspace {strategy} --strategy {strategy} 2>log"
        ));
        has_them(&format!("down.q.{strategy}"));
    }
    // Rendering by itself is kpt's.
    let text = git_env.fail("kiln fn render two");
    assert!(text.contains("unknown field \"custom\""), "{text}");
    // What is of the wrong kind is refused as ever.
    git_env.run("kiln rpkg copy up.p.v2 --workspace v4 2>log; kiln rpkg pull up.p.v4 four; sed -i 's/^pipeline:/pipeline: 3\\nother:/' four/Kptfile");
    let text = git_env.fail("kiln rpkg push up.p.v4 four");
    assert!(text.contains("cannot unmarshal"), "{text}");
}

#[test]
fn a_package_is_pulled_whole_or_not_at_all() {
    let Some(git_env) = GitEnvironment::new("a_package_is_pulled_whole_or_not_at_all") else {
        return;
    };
    let long = "x".repeat(300);
    git_env.run(&format!(
        "kiln rpkg init p --repository up --workspace v1 2>log
        git clone --quiet up.git work 2>log; cd work; git checkout --quiet drafts/p/v1
        git update-index --add --cacheinfo 100644,$(git rev-parse HEAD:p/README.md),p/z/{long}
        git commit --quiet -m long; git push --quiet origin HEAD:drafts/p/v1"
    ));
    let text = git_env.fail("kiln rpkg pull up.p.v1 pulled");
    assert!(text.starts_with("error: cannot write z/xxx"), "{text}");
    let left = git_env.run("ls -A | grep pulled || true");
    assert_eq!(left, "");
    git_env.run("kiln rpkg pull up.p.main new/deep/one 2>log || true; kiln rpkg init q --repository up --workspace v1 2>log
        kiln rpkg pull up.q.v1 new/deep/two; test -f new/deep/two/Kptfile; test -z \"$(ls -A new/deep | grep kiln)\"");
}

#[test]
fn repositories_that_are_registered_at_once_are_all_there() {
    let Some(git_env) = GitEnvironment::new("repositories_that_are_registered_at_once") else {
        return;
    };
    let names = git_env.run(
        "for n in 1 2 3 4 5 6 7 8; do git init --quiet --bare r$n.git; done
        for n in 1 2 3 4 5 6 7 8; do kiln repo register r$n.git --create-branch & done; wait
        kiln repo get -o name | wc -l",
    );
    assert_eq!(names.trim(), "10");
}

/// A draft that cannot be read again would be lost with everything in it.
#[test]
fn a_file_that_is_too_large_is_refused_before_it_is_read() {
    let Some(git_env) = GitEnvironment::new("a_file_that_is_too_large_is_refused") else {
        return;
    };
    git_env.run(
        "kiln rpkg init p --repository up --workspace v1 2>log; kiln rpkg pull up.p.v1 p
        truncate -s 1G p/large",
    );
    let text = git_env.fail("kiln rpkg push up.p.v1 p");
    assert_eq!(text, "error: the package is larger than 268435456 bytes\n");
    git_env.run("rm p/large; kiln rpkg push up.p.v1 p 2>log");
}
