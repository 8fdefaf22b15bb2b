//! Repositories, packages, addresses and environments that would like to have something run: nothing is.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::packages::GitEnvironment;

/// Everything git knows that can name a program, set in the repository in the current directory. `EVIL` is the program.
const TRAPS: &str = r#"
for hook in applypatch-msg pre-commit post-commit post-checkout post-merge post-rewrite pre-push pre-receive update \
    post-receive post-update reference-transaction push-to-checkout pre-auto-gc post-index-change fsmonitor-watchman \
    proc-receive; do
    mkdir -p "$(git rev-parse --git-path hooks)"
    ln -sf EVIL "$(git rev-parse --git-path hooks)/$hook"
done
for key in core.fsmonitor core.sshCommand core.gitProxy core.editor core.pager core.askPass core.alternateRefsCommand \
    diff.external diff.evil.command diff.evil.textconv merge.evil.driver gpg.program filter.evil.clean \
    filter.evil.smudge filter.evil.process uploadpack.packObjectsHook remote.origin.uploadpack \
    remote.origin.receivepack sequence.editor interactive.diffFilter; do
    git config "$key" EVIL
done
for key in credential.helper alias.fetch alias.cat-file alias.read-tree alias.update-ref submodule.sub.update; do
    git config "$key" '!EVIL'
done
git config filter.evil.required true; git config diff.external EVIL; git config commit.gpgSign true
git config submodule.recurse true; git config fetch.recurseSubmodules true
git config remote.origin.url ../nowhere; git config remote.origin.promisor true
mkdir -p "$(git rev-parse --git-path info)"
echo '* filter=evil diff=evil merge=evil' > "$(git rev-parse --git-path info/attributes)"
"#;

struct Hostile {
    git_env: GitEnvironment,
}

impl Hostile {
    /// An environment with a program that records how it is run.
    fn new(test: &str) -> Option<Hostile> {
        let git_env = GitEnvironment::new(test)?;
        let evil = git_env.test_env.work().join("evil");
        let ran = git_env.test_env.work().join("ran");
        let script = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", ran.display());
        fs::write(&evil, script).expect("a file");
        fs::set_permissions(&evil, fs::Permissions::from_mode(0o755)).expect("a mode");
        Some(Hostile { git_env })
    }

    /// Runs a script, whatever comes of it; nothing but that may have been run.
    #[track_caller]
    fn check(&self, script: &str, variables: &[(&str, &str)]) -> String {
        let evil = self
            .git_env
            .test_env
            .work()
            .join("evil")
            .display()
            .to_string();
        let work = self.git_env.test_env.work();
        let script = script.replace("EVIL", &evil);
        let variables: Vec<(&str, String)> = variables
            .iter()
            .map(|(name, value)| (*name, value.replace("EVIL", &evil)))
            .collect();
        let variables: Vec<(&str, &str)> = variables
            .iter()
            .map(|(name, value)| (*name, value.as_str()))
            .collect();
        let ran = self.git_env.test_env.shell(&work, &script, &variables);
        let message = fs::read_to_string(work.join("ran")).unwrap_or_default();
        assert_eq!(message, "", "{script}\n{}{}", ran.stdout, ran.stderr);
        format!("{}{}", ran.stdout, ran.stderr)
    }

    /// A repository with a published package and with all traps set, checked out or bare.
    fn repository(&self, name: &str) {
        let evil = self
            .git_env
            .test_env
            .work()
            .join("evil")
            .display()
            .to_string();
        self.git_env.run(
            &format!(
                "git init --quiet -b main {name}; cd {name}
                echo hello > README; git add .; git commit --quiet -m first
                kiln rpkg init p --repository {name} --workspace v1 2>../log; kiln rpkg pull {name}.p.v1 ../{name}-p
                printf '* filter=evil diff=evil merge=evil\\n' > ../{name}-p/.gitattributes
                printf '[submodule \"sub\"]\\n  path = sub\\n  url = ext::EVIL\\n  update = !EVIL\\n' > ../{name}-p/.gitmodules
                kiln rpkg push {name}.p.v1 ../{name}-p 2>../log >../log; kiln rpkg propose {name}.p.v1 2>../log >../log
                kiln rpkg approve {name}.p.v1 >../log 2>&1
                git clone --quiet --bare . ../{name}.git
                {TRAPS}
                cd ../{name}.git
                {TRAPS}"
            )
            .replace("EVIL", &evil),
        );
    }
}

#[test]
fn a_hostile_repository_runs_nothing() {
    let Some(hostile) = Hostile::new("a_hostile_repository_runs_nothing") else {
        return;
    };
    hostile.repository("trap");
    // These are traps: careless use of git would run them.
    let work = hostile.git_env.test_env.work();
    let caught =
        hostile
            .git_env
            .test_env
            .shell(&work, "cd trap; touch p/*; git status; cat ../ran", &[]);
    assert!(caught.stdout.contains("evil"), "{caught:?}");
    fs::remove_file(work.join("ran")).expect("a file");

    let printed = hostile.check(
        "kiln rpkg clone ./trap a --directory p --repository down
        kiln rpkg clone ./trap.git/p@main b --repository down
        kiln rpkg clone file://$PWD/trap.git/p@main c --repository down
        kiln rpkg clone file://$PWD/trap/.git/p@p/v1 d --repository down
        kiln rpkg get --repo down | wc -l",
        &[],
    );
    assert!(printed.contains("\ndown.d.v1 created\n5\n"), "{printed}");
    let printed = hostile.check(
        "cd trap; kiln rpkg get; kiln rpkg log trap.p.v1; touch p/*
        kiln rpkg copy trap.p.v1 --workspace v2 && kiln rpkg pull trap.p.v2 ../v2 && echo x > ../v2/x
        kiln rpkg push trap.p.v2 ../v2 && kiln rpkg diff trap.p.v1 trap.p.v2
        kiln rpkg propose trap.p.v2 && kiln rpkg reject trap.p.v2 && kiln rpkg propose trap.p.v2
        kiln rpkg approve trap.p.v2; cat p/x
        kiln rpkg propose-delete trap.p.v1 && kiln rpkg del trap.p.v1",
        &[],
    );
    assert!(printed.contains("trap.p.v2 approved\nx\n"), "{printed}");
    assert!(printed.contains("trap.p.v1 deleted\n"), "{printed}");
    let printed = hostile.check(
        "kiln repo register trap.git; kiln repo sync trap; kiln rpkg init q --repository trap --workspace v1
        kiln rpkg propose trap.q.v1; kiln rpkg approve trap.q.v1",
        &[],
    );
    assert!(printed.contains("trap.q.v1 approved"), "{printed}");
}

/// A file that is missing in a partial clone is fetched by git, with a program that the repository names.
#[test]
fn what_is_missing_is_not_fetched() {
    let Some(hostile) = Hostile::new("what_is_missing_is_not_fetched") else {
        return;
    };
    hostile.repository("trap");
    let printed = hostile.check(
        "cd trap.git; git config core.repositoryFormatVersion 1; git config extensions.partialClone origin
        id=$(git rev-parse main:p/README.md)
        git unpack-objects -q < $(ls objects/pack/*.pack) 2>/dev/null
        mv objects/pack ../pack; mkdir objects/pack
        for pack in ../pack/*.pack; do git unpack-objects -q < $pack; done
        rm -f objects/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-); rm -f ../ran; cd ..
        kiln rpkg clone ./trap.git/p@main a --repository down
        kiln rpkg clone file://$PWD/trap.git/p@main a --repository down",
        &[],
    );
    assert!(!printed.contains("created"), "{printed}");
    assert!(
        printed.contains("or it is a partial clone whose missing objects kiln does not fetch"),
        "{printed}"
    );
}

#[test]
fn a_partial_clone_is_reported() {
    let Some(git_env) = GitEnvironment::new("a_partial_clone_is_reported") else {
        return;
    };
    git_env.publish();
    git_env.run(
        "git --git-dir up.git config uploadpack.allowFilter true
        git clone --quiet --bare --filter=blob:none file://$PWD/up.git part.git",
    );
    // Some versions of git fail on missing objects, others report them.
    let text = git_env.run("kiln rpkg get --repo part.git 2>&1 || true");
    let is_reported =
        text.contains("or it is a partial clone whose missing objects kiln does not fetch");
    assert!(is_reported || text == "No resources found.\n", "{text}");
    git_env
        .run("git --git-dir part.git fetch --quiet --refetch --no-filter origin '+refs/*:refs/*'");
    let table = git_env.run("kiln rpkg get --repo part.git -o name");
    assert_eq!(table.lines().count(), 2, "{table}");
}

#[test]
fn addresses_and_references_run_nothing() {
    let Some(hostile) = Hostile::new("addresses_and_references_run_nothing") else {
        return;
    };
    hostile.git_env.publish();
    for address in [
        "ext::EVIL% x/y.git",
        "ext::EVIL/y.git",
        "fd::17/y.git",
        "--upload-pack=EVIL/y.git",
        "-oProxyCommand=EVIL/y.git",
        "ssh://-oProxyCommand=EVIL/y.git",
        "ssh://x@-oProxyCommand=EVIL/y.git",
        "-oProxyCommand=EVIL:x/y.git",
        "file:///x --upload-pack=EVIL/y.git",
        "git://127.0.0.1:1/$(EVIL)/y.git",
        "`EVIL`/y.git",
        "a;EVIL/y.git",
    ] {
        let printed = hostile.check(
            &format!(
                "kiln rpkg clone --repository down -- '{address}' a; kiln rpkg get --repo='{address}'; kiln repo register -- '{address}'"
            ),
            // Nothing accepts connections.
            &[("GIT_SSH_COMMAND", "false"), ("GIT_TERMINAL_PROMPT", "0")],
        );
        assert!(!printed.contains("created"), "{address}: {printed}");
    }
    for reference in [
        "--upload-pack=EVIL",
        "-x",
        "a..b",
        "$(EVIL)",
        "@{-1}",
        ":/x",
    ] {
        for repository in ["./up.git", "file://$PWD/up.git"] {
            let printed = hostile.check(
                &format!("kiln rpkg clone {repository} a --directory p --ref='{reference}' --repository down"),
                &[],
            );
            assert!(printed.contains("cannot find git reference"), "{printed}");
        }
    }
}

#[test]
fn the_environment_of_another_git_is_not_ours() {
    let Some(hostile) = Hostile::new("the_environment_of_another_git_is_not_ours") else {
        return;
    };
    let printed = hostile.check(
        "mkdir -p template/hooks; ln -s EVIL template/hooks/reference-transaction
        git init --quiet -b main site; cd site; echo x > x; git add .; git commit --quiet -m x; cd ..; rm -f ran",
        &[],
    );
    assert_eq!(printed, "");
    let work = hostile.git_env.test_env.work();
    let template = work.join("template").display().to_string();
    let variables = [
        ("GIT_DIR", "/nonexistent"),
        ("GIT_WORK_TREE", "/nonexistent"),
        ("GIT_INDEX_FILE", "/nonexistent"),
        ("GIT_OBJECT_DIRECTORY", "/nonexistent"),
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "core.fsmonitor"),
        ("GIT_CONFIG_VALUE_0", "EVIL"),
        ("GIT_CONFIG_PARAMETERS", "'core.fsmonitor=EVIL'"),
        ("GIT_EXTERNAL_DIFF", "EVIL"),
        ("GIT_PAGER", "EVIL"),
        ("GIT_EDITOR", "EVIL"),
        ("GIT_TEMPLATE_DIR", &template),
        ("GIT_NAMESPACE", "other"),
        ("GIT_CEILING_DIRECTORIES", "/"),
    ];
    let printed = hostile.check(
        "cd site; kiln rpkg init p --repository site --workspace v1; kiln rpkg propose site.p.v1
        kiln rpkg approve site.p.v1; kiln rpkg clone file://$PWD/p r --directory p --repository down
        cd ..; kiln rpkg clone file://$PWD/site/.git/p@main r --repository down",
        &variables,
    );
    assert!(printed.contains("site.p.v1 approved"), "{printed}");
    assert!(printed.contains("down.r.v1 created"), "{printed}");
    assert_eq!(
        hostile.check("cd site; git status --porcelain", &[]),
        "",
        "the files are where they belong"
    );
}

/// A package may hold what looks like a repository of its own.
#[test]
fn a_repository_inside_of_a_package_is_not_used() {
    let Some(hostile) = Hostile::new("a_repository_inside_of_a_package_is_not_used") else {
        return;
    };
    hostile.repository("trap");
    let printed = hostile.check(
        "kiln rpkg init p --repository up --workspace v1 2>log; kiln rpkg pull up.p.v1 p; cp -r trap.git p/inner
        kiln rpkg push up.p.v1 p; kiln rpkg pull up.p.v1 pulled; cd pulled/inner; kiln rpkg get; kiln rpkg get --repo .",
        &[],
    );
    assert!(printed.contains("up.p.v1 pushed"), "{printed}");
    // A link to another repository in a tree is not followed.
    let printed = hostile.check(
        "git clone --quiet up.git with-sub; cd with-sub; git checkout --quiet drafts/p/v1
        git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),p/sub; git commit --quiet -m sub
        git push --quiet origin HEAD:drafts/p/v1; cd ..; kiln rpkg pull up.p.v1 again; kiln rpkg propose up.p.v1",
        &[],
    );
    assert!(
        printed.contains("sub is a git submodule, which packages cannot have"),
        "{printed}"
    );
}
