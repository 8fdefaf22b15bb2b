//! Repositories that have function runners of their own.

use crate::packages::GitEnvironment;
use crate::runner::Running;

/// A package whose function records which runner ran it.
const PACKAGE: &str = "mkdir -p PKG; kiln rpkg init PKG --repository REPO --workspace v1 2>log
    rmdir PKG; kiln rpkg pull REPO.PKG.v1 PKG
    printf 'pipeline:\\n  mutators:\\n  - image: example.com/FUNCTION:v1\\n' >> PKG/Kptfile
    printf 'apiVersion: v1\\nkind: ConfigMap\\nmetadata:\\n  name: c\\ndata:\\n  runner: none\\n' > PKG/c.yaml
    ";

fn begin(git_env: &GitEnvironment, repository: &str, package: &str, function: &str) {
    let script = PACKAGE
        .replace("PKG", package)
        .replace("REPO", repository)
        .replace("FUNCTION", function);
    git_env.run(&script);
}

#[test]
fn each_repository_asks_its_own_runner() {
    let Some(git_env) = GitEnvironment::new("each_repository_asks_its_own_runner") else {
        return;
    };
    let (one, two, three) = (
        Running::named("one"),
        Running::named("two"),
        Running::named("three"),
    );
    git_env.run(&format!(
        "for name in a b; do git init --quiet --bare $name.git; done
        kiln repo register a.git --create-branch --runner-address {}
        kiln repo register b.git --create-branch --runner-address {}",
        one.address, two.address
    ));
    let function = ["example.com/who:v1"];
    for (repository, own, other) in [("a", &one, &two), ("b", &two, &one)] {
        begin(&git_env, repository, repository, "who");
        let out = git_env.run(&format!(
            "kiln rpkg push {repository}.{repository}.v1 {repository} 2>log
            kiln rpkg pull {repository}.{repository}.v1 out-{repository}; cat out-{repository}/c.yaml"
        ));
        let name = if repository == "a" { "one" } else { "two" };
        assert!(out.contains(&format!("runner: {name}\n")), "{out}");
        assert_eq!(own.take_asked(), function);
        assert!(other.take_asked().is_empty());
    }
    // A clone is rendered where it goes, not where it comes from.
    git_env.run("kiln rpkg clone a.a.v1 c --repository b 2>log");
    assert_eq!(two.take_asked(), function);
    // The command line takes precedence.
    git_env.run(&format!(
        "kiln rpkg propose a.a.v1 --function-runner-address {} 2>log",
        three.address
    ));
    assert_eq!(three.take_asked(), function);
    assert!(one.take_asked().is_empty());
    // A repository without a runner cannot run it.
    begin(&git_env, "up", "u", "who");
    let text = git_env.fail("kiln rpkg push up.u.v1 u");
    assert!(text.contains("example.com/who:v1"), "{text}");
}

#[test]
fn each_repository_has_its_own_limits() {
    let Some(git_env) = GitEnvironment::new("each_repository_has_its_own_limits") else {
        return;
    };
    let runner = Running::named("one");
    let address = runner.address;
    git_env.run(&format!(
        "for name in hasty small; do git init --quiet --bare $name.git; done
        kiln repo register hasty.git --create-branch --runner-address {address} --runner-timeout 100ms
        kiln repo register small.git --create-branch --runner-address {address} --runner-max-output 100"
    ));
    begin(&git_env, "hasty", "h", "never");
    let text = git_env.fail("kiln rpkg push hasty.h.v1 h");
    assert!(text.contains("100ms"), "{text}");
    begin(&git_env, "small", "s", "who");
    let text = git_env.fail("kiln rpkg push small.s.v1 s");
    assert!(text.contains("more than 100 bytes"), "{text}");
    // The command line can raise the limit.
    git_env.run("kiln rpkg push small.s.v1 s --max-output 1M 2>log");
    let text = git_env.fail("kiln rpkg push hasty.h.v1 h --timeout 50ms");
    assert!(text.contains("50ms"), "{text}");
}

#[test]
fn options_of_runners_are_checked_and_those_without_effect_are_reported() {
    let Some(git_env) = GitEnvironment::new("options_of_runners_are_checked") else {
        return;
    };
    for (flags, message) in [
        ("--runner-address ftp://x", "ftp://x"),
        ("--runner-timeout soon", "soon"),
        ("--runner-memory much", "much"),
    ] {
        let text = git_env.fail(&format!("kiln repo register up.git --name other {flags}"));
        assert!(text.contains(message), "{text}");
        assert!(text.contains("runner of repository other"), "{text}");
    }
    let text = git_env.run(
        "kiln repo register up.git --name other --runner-pull-secret s --runner-pull-secret t 2>&1",
    );
    assert!(
        text.starts_with("[WARN] --runner-pull-secret is recorded but not used"),
        "{text}"
    );
    let stored = git_env.run("cat ~/.config/kiln/repositories.yaml");
    assert!(stored.contains("pullSecrets:\n"), "{stored}");
}
