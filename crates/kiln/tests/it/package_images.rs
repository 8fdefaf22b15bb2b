//! Packages from images, from the command line: cloned, upgraded, discovered, refused.

use crate::packages::GitEnvironment;
use crate::test_environment::TestEnvironment;

#[path = "../../../kiln-task/tests/it/archive.rs"]
mod archive;
#[path = "../../../kiln-task/tests/it/registry.rs"]
pub(crate) mod registry;

use archive::{Entry, archive, file};
use registry::{ROBOT, TestRegistry};

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: base\n";

fn config_map(name: &str, data: &str) -> String {
    format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {name}\ndata:\n{data}")
}

/// Version 1 of a package, and version 2 with a value changed, a file gone and one more.
fn push_versions(registry: &TestRegistry) -> (String, String) {
    let one = config_map("c", "  k: one\n  same: x\n");
    let two = config_map("c", "  k: two\n  same: x\n");
    let old = config_map("old", "  a: b\n");
    let new = config_map("new", "  a: b\n");
    let base = archive(&[file("Kptfile", KPTFILE), file("c.yaml", &one)]);
    let first = registry.push(
        "team/base",
        "v1",
        vec![
            base.clone(),
            archive(&[
                file("old.yaml", &old),
                ("run", tar::EntryType::Regular, 0o755, "#!/bin/sh\n"),
            ]),
        ],
    );
    let second = registry.push(
        "team/base",
        "v2",
        vec![
            base,
            archive(&[file("old.yaml", &old)]),
            archive(&[
                file(".wh.old.yaml", ""),
                file("c.yaml", &two),
                file("new.yaml", &new),
                ("run", tar::EntryType::Regular, 0o755, "#!/bin/sh\n"),
            ]),
        ],
    );
    (first, second)
}

/// Clones version 1 and publishes it, changed or as it is.
fn clone_first(git_env: &GitEnvironment, registry: &TestRegistry, package: &str, change: &str) {
    let host = &registry.host;
    let edit = match change {
        "" => String::new(),
        change => format!(
            "kiln rpkg pull down.{package}.v1 {package}; (cd {package}; {change}); kiln rpkg push down.{package}.v1 {package} 2>log"
        ),
    };
    git_env.run(&format!(
        "kiln rpkg clone oci://{host}/team/base:v1 {package} --repository down 2>log
        {edit}
        kiln rpkg propose down.{package}.v1 2>log; kiln rpkg approve down.{package}.v1"
    ));
}

fn life_of_a_package_from_an_image(registry: &TestRegistry) {
    let Some(git_env) = GitEnvironment::new("life_of_a_package_from_an_image") else {
        return;
    };
    let host = &registry.host;
    let (first, second) = push_versions(registry);
    clone_first(&git_env, registry, "plain", "");
    clone_first(
        &git_env,
        registry,
        "mine",
        "sed -i 's/same: x/same: mine/; s/k: one/k: local/' c.yaml; echo hello > note",
    );
    let kptfile = git_env.run("kiln rpkg get down.plain.v1 --show-kptfile");
    let lock = |tag: &str, digest: &str| {
        format!(
            "  generic:\n    storeID: oci\n    resourceID: {host}/team/base:{tag}\n    resourceVersion: {digest}\n"
        )
    };
    assert!(kptfile.contains(&lock("v1", &first)), "{kptfile}");

    let table = git_env.run("kiln rpkg upgrade --discover upstream down.plain.v1 | tr -s ' '");
    assert_eq!(
        table,
        format!(
            "PACKAGE REVISION UPSTREAM REPOSITORY UPSTREAM UPDATES\ndown.plain.v1 oci://{host}/team/base v2\n"
        )
    );
    let table = git_env.run(&format!(
        "kiln rpkg upgrade --discover downstream oci://{host}/team/base:v2 | tr -s ' '"
    ));
    assert!(
        table.contains(&format!("oci://{host}/team/base:v2 down.mine.v1 v1->v2\n")),
        "{table}"
    );

    // Unchanged files equal those of upstream with every strategy.
    for strategy in [
        "resource-merge",
        "fast-forward",
        "force-delete-replace",
        "copy-merge",
    ] {
        let out = git_env.run(&format!(
            "kiln rpkg upgrade down.plain.v1 --workspace {strategy} --strategy {strategy} 2>log
            kiln rpkg pull down.plain.{strategy} at-{strategy}; cd at-{strategy}; ls; grep k: c.yaml; test -x run; cat Kptfile"
        ));
        let files = format!(
            "down.plain.v1 upgraded to down.plain.{strategy}\nKptfile\nc.yaml\nnew.yaml\npackage-context.yaml\nrun\n  k: two\n"
        );
        assert!(out.starts_with(&files), "{strategy}: {out}");
        assert!(out.contains("name: plain"), "{strategy}: {out}");
        assert!(out.contains(&lock("v2", &second)), "{strategy}: {out}");
    }
    // Changed files are merged, or cause an error, or are lost.
    let out = git_env.run(
        "kiln rpkg upgrade down.mine.v1 --workspace v2 --revision 2 2>log; cat log
        kiln rpkg pull down.mine.v2 merged; cat merged/c.yaml merged/note; test ! -e merged/old.yaml",
    );
    for part in [
        "data.k: was one, local has local, upstream has two; upstream taken",
        "  k: two\n  same: mine\n",
        "hello\n",
    ] {
        assert!(out.contains(part), "{part}: {out}");
    }
    let text = git_env
        .fail("kiln rpkg upgrade down.mine.v1 --workspace v3 --strategy fast-forward --ref v2");
    assert!(
        text.contains("local package files have been modified"),
        "{text}"
    );
    let out = git_env.run(&format!(
        "kiln rpkg upgrade down.mine.v1 --workspace v4 --strategy force-delete-replace --ref {second} 2>log
        kiln rpkg pull down.mine.v4 replaced; cat replaced/c.yaml; test ! -e replaced/note
        kiln rpkg upgrade down.mine.v1 --workspace v5 --strategy copy-merge --ref oci://{host}/team/base:v2 2>log
        kiln rpkg pull down.mine.v5 copied; cat copied/note"
    ));
    assert!(out.contains("  k: two\n  same: x\n"), "{out}");
    assert!(out.ends_with("hello\n"), "{out}");

    // An upgrade of what was upgraded starts from there, and finds nothing newer.
    let table = git_env.run(
        "kiln rpkg propose down.mine.v2 >log 2>&1; kiln rpkg approve down.mine.v2 >log
        kiln rpkg upgrade --discover upstream down.mine.v2 | tr -s ' ' | tail -1",
    );
    assert_eq!(
        table,
        format!("down.mine.v2 oci://{host}/team/base No update available\n")
    );
    // A tag that means something else by now.
    let three = config_map("c", "  k: three\n");
    let layer = archive(&[file("Kptfile", KPTFILE), file("c.yaml", &three)]);
    let moved = registry.push("team/base", "v2", vec![layer]);
    let table =
        git_env.run("kiln rpkg upgrade --discover upstream down.mine.v2 | tr -s ' ' | tail -1");
    let short = moved.get(..19).unwrap_or_default();
    assert_eq!(
        table,
        format!("down.mine.v2 oci://{host}/team/base v2@{short}\n")
    );
    let out = git_env.run(
        "kiln rpkg upgrade down.mine.v2 --workspace v6 2>log
        kiln rpkg pull down.mine.v6 moved; cat moved/Kptfile moved/c.yaml",
    );
    assert!(out.contains(&lock("v2", &moved)), "{out}");
    assert!(out.contains("  k: three\n"), "{out}");

    let text = git_env.fail("kiln rpkg upgrade down.plain.v1 --workspace v9 --revision 7");
    assert_eq!(
        text,
        format!("error: image {host}/team/base has no tag v7\n")
    );
    let text = git_env.fail("kiln rpkg upgrade down.plain.v1 --workspace v9 --ref nothing");
    assert!(text.contains("team/base:nothing"), "{text}");
    git_env.publish();
    git_env.run(
        "kiln rpkg clone up.p.v1 git --repository down 2>log
        kiln rpkg propose down.git.v1 2>log; kiln rpkg approve down.git.v1 >log",
    );
    let text = git_env.fail("kiln rpkg upgrade down.git.v1 --workspace v2 --ref v2");
    assert_eq!(
        text,
        "error: down.git.v1 was not cloned from an image; choose the upstream revision with --revision\n"
    );
}

#[test]
fn a_package_from_a_registry_of_a_few_lines_lives() {
    life_of_a_package_from_an_image(&TestRegistry::scripted());
}

#[test]
fn a_package_from_a_real_registry_lives() {
    if let Some(registry) = TestRegistry::program() {
        life_of_a_package_from_an_image(&registry);
    }
}

/// Regression: the lines about images ended in `@`.
#[test]
fn a_package_from_an_image_is_fetched_and_updated_in_a_directory() {
    let git_env = TestEnvironment::new();
    let registry = TestRegistry::scripted();
    let host = &registry.host;
    let (first, _) = push_versions(&registry);
    let got = git_env.kiln(
        &["pkg", "get", &format!("oci://{host}/team/base:v1"), "app"],
        "",
    );
    assert_eq!(got.code, Some(0), "{got:?}");
    assert_eq!(
        got.stderr,
        format!("Package \"app\":\nFetching oci://{host}/team/base:v1\n\nFetched 1 package(s).\n")
    );
    let check = git_env.kiln(&["pkg", "update", "app", "--check"], "");
    assert_eq!(check.code, Some(3), "{check:?}");
    let newer =
        format!("app: newer than {host}/team/base:v1: v2; update with `kiln pkg update app@v2`\n");
    assert_eq!(check.stderr, newer);
    let updated = git_env.kiln(&["pkg", "update", "app@v2"], "");
    assert_eq!(updated.code, Some(0), "{updated:?}");
    let lines = format!(
        "Package \"app\":\nFetching upstream from oci://{host}/team/base:v2\nFetching origin from oci://{host}/team/base@{first}\n"
    );
    assert!(updated.stderr.starts_with(&lines), "{updated:?}");
    let check = git_env.kiln(&["pkg", "update", "app", "--check"], "");
    assert_eq!(check.code, Some(0), "{check:?}");
}

/// Credentials are where Docker has them: in its file, wherever that is, or with a helper.
#[test]
fn a_package_behind_a_password_is_had_with_docker_s_credentials() {
    let Some(git_env) = GitEnvironment::new("a_package_behind_a_password") else {
        return;
    };
    let registry = TestRegistry::guarded();
    let host = &registry.host;
    push_versions(&registry);
    let clone = |package: &str| {
        format!("kiln rpkg clone oci://{host}/team/base:v1 {package} --repository down")
    };
    let before = git_env.run("git --git-dir down.git for-each-ref");
    let text = git_env.fail(&clone("nobody"));
    assert!(text.contains("denied permission to read"), "{text}");
    let wrong = "cm9ib3Q6d3Jvbmc=";
    for (directory, password) in [("docker", ROBOT), ("wrong", wrong)] {
        let file = format!("{{\"auths\":{{\"{host}\":{{\"auth\":\"{password}\"}}}}}}");
        git_env
            .test_env
            .write(&format!("{directory}/config.json"), &file);
    }
    let text = git_env.fail(&format!("DOCKER_CONFIG=wrong {}", clone("wrong")));
    assert!(text.contains("denied permission to read"), "{text}");
    assert!(!text.contains("wrong\"") && !text.contains(wrong), "{text}");
    assert_eq!(git_env.run("git --git-dir down.git for-each-ref"), before);
    git_env.run(&format!(
        "export DOCKER_CONFIG=docker
        {} 2>log; kiln rpkg propose down.one.v1 2>log; kiln rpkg approve down.one.v1
        kiln rpkg upgrade --discover upstream down.one.v1 | grep ' v2$'
        kiln rpkg upgrade down.one.v1 --workspace v2 2>log",
        clone("one")
    ));
    git_env.run(&format!(
        "mkdir $HOME/.docker; cp docker/config.json $HOME/.docker; {} 2>log",
        clone("two")
    ));
    git_env
        .test_env
        .write("helped/config.json", "{\"credsStore\":\"test\"}");
    let helper = "#!/bin/sh\ncat > asked\necho '{\"Username\":\"robot\",\"Secret\":\"secret\"}'\n";
    git_env.test_env.write("bin/docker-credential-test", helper);
    git_env.run(&format!(
        "chmod +x bin/docker-credential-test
        PATH=$PWD/bin:$PATH DOCKER_CONFIG=helped {} 2>log; grep {host} asked",
        clone("three")
    ));
    // They are in none of the written files.
    git_env.run(&format!(
        "for object in $(git --git-dir down.git cat-file --batch-all-objects --batch-check='%(objectname)'); do
            git --git-dir down.git cat-file -p $object; done > objects
        ! grep -e {ROBOT} -e secret objects"
    ));
}

#[test]
fn layers_that_mean_harm_are_refused() {
    let Some(git_env) = GitEnvironment::new("layers_that_mean_harm_are_refused") else {
        return;
    };
    let registry = TestRegistry::scripted();
    let host = &registry.host;
    let hostile: &[(&str, Entry<'_>, &str)] = &[
        (
            "traversal",
            file("../../evil", "x"),
            "invalid relative path \"../../evil\"",
        ),
        (
            "inner",
            file("a/../../evil", "x"),
            "it leads out of the package",
        ),
        (
            "hook",
            file(".git/hooks/post-checkout", "x"),
            "it leads into the git directory",
        ),
        (
            "case",
            file("sub/.GIT/config", "x"),
            "it leads into the git directory",
        ),
        ("control", file("a\u{1b}[2J", "x"), "control character"),
        (
            "device",
            ("dev", tar::EntryType::Block, 0o644, ""),
            "dev is not a file",
        ),
        (
            "pipe",
            ("pipe", tar::EntryType::Fifo, 0o644, ""),
            "pipe is not a file",
        ),
        (
            "hard",
            ("l", tar::EntryType::Link, 0o644, "/etc/passwd"),
            "l is a link to a file that is not in the image",
        ),
    ];
    let refs = "git --git-dir down.git for-each-ref";
    let before = git_env.run(refs);
    for (name, entry, message) in hostile {
        registry.push(
            name,
            "v1",
            vec![archive(&[file("Kptfile", KPTFILE), *entry])],
        );
        let text = git_env.fail(&format!(
            "kiln rpkg clone oci://{host}/{name}:v1 p --repository down"
        ));
        assert!(text.contains(message), "{name}: {text}");
        assert!(!text.contains('\u{1b}'), "{name}: {text:?}");
    }
    // Larger than the limit: the registry announces the size first.
    let digest = format!("sha256:{}", "a".repeat(64));
    let layer = format!(
        "{{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar\",\"digest\":\"{digest}\",\"size\":99999999999}}"
    );
    let config = config_descriptor(&registry, "{\"architecture\":\"any\",\"os\":\"linux\"}");
    registry.say(
        "/v2/large/manifests/v1",
        "application/vnd.oci.image.manifest.v1+json",
        &format!("{{\"schemaVersion\":2,\"config\":{config},\"layers\":[{layer}]}}"),
    );
    let text = git_env.fail(&format!(
        "kiln rpkg clone oci://{host}/large:v1 p --repository down"
    ));
    assert!(text.contains("is larger than 268435456 bytes"), "{text}");
    registry.push("none", "v1", vec![archive(&[file("x.yaml", "a: b\n")])]);
    let text = git_env.fail(&format!(
        "kiln rpkg clone oci://{host}/none:v1 p --repository down"
    ));
    assert!(text.contains("is missing Kptfile"), "{text}");
    assert_eq!(git_env.run(refs), before);
    assert!(!git_env.test_env.work().join("evil").exists());
}

/// Uploads a config; returns its descriptor for a manifest.
fn config_descriptor(registry: &TestRegistry, config: &str) -> String {
    let digest = kiln_oci::Digest::of(config.as_bytes());
    registry.say(
        &format!("/v2/large/blobs/{digest}"),
        "application/octet-stream",
        config,
    );
    format!(
        "{{\"mediaType\":\"application/vnd.oci.image.config.v1+json\",\"digest\":\"{digest}\",\"size\":{}}}",
        config.len()
    )
}

fn link<'a>(path: &'a str, target: &'a str) -> Entry<'a> {
    (path, tar::EntryType::Symlink, 0o777, target)
}

#[test]
fn links_in_layers_lead_nowhere() {
    let Some(git_env) = GitEnvironment::new("links_in_layers_lead_nowhere") else {
        return;
    };
    let registry = TestRegistry::scripted();
    let host = &registry.host;
    git_env.test_env.write("outside/secret.yaml", "untouched\n");
    let out = git_env
        .test_env
        .work()
        .join("outside")
        .display()
        .to_string();
    let secret = format!("{out}/secret.yaml");
    let evil = config_map("evil", "  a: b\n");
    registry.push(
        "links",
        "v1",
        vec![
            archive(&[
                file("Kptfile", KPTFILE),
                link("dir", &out),
                link("secret.yaml", &secret),
            ]),
            // Through the link, if something followed it.
            archive(&[file("dir/secret.yaml", &evil), link("up", "../../..")]),
        ],
    );
    git_env.run(&format!(
        "kiln rpkg clone oci://{host}/links:v1 p --repository down
        kiln rpkg pull down.p.v1 p; test -L p/secret.yaml; test ! -L p/dir; test -f p/dir/secret.yaml
        kiln rpkg push down.p.v1 p 2>log; kiln rpkg propose down.p.v1 2>log; kiln rpkg approve down.p.v1"
    ));
    assert_eq!(git_env.run("cat outside/secret.yaml"), "untouched\n");
}

/// Publishes a package whose lock names an image.
fn publish_with_lock(git_env: &GitEnvironment, package: &str, image: &str, digest: &str) {
    git_env.run(&format!(
        "kiln rpkg init {package} --repository down --workspace v1 2>log; kiln rpkg pull down.{package}.v1 {package}
        printf 'upstreamLock:\\n  type: generic\\n  generic:\\n    storeID: oci\\n    resourceID: {image}\\n    resourceVersion: {digest}\\n' >> {package}/Kptfile
        kiln rpkg push down.{package}.v1 {package} >log 2>&1
        kiln rpkg propose down.{package}.v1 >log 2>&1; kiln rpkg approve down.{package}.v1 >log"
    ));
}

#[test]
fn missing_images_are_reported() {
    let Some(git_env) = GitEnvironment::new("missing_images_are_reported") else {
        return;
    };
    let registry = TestRegistry::scripted();
    let host = &registry.host;
    push_versions(&registry);
    let unknown = format!("sha256:{}", "a".repeat(64));
    publish_with_lock(&git_env, "lost", &format!("{host}/team/base:v1"), &unknown);
    let text = git_env.fail("kiln rpkg upgrade down.lost.v1 --workspace v2");
    let exact = format!("oci://{host}/team/base@{unknown}");
    assert!(
        text.starts_with(&format!(
            "error: error fetching the resources for package \"lost\" with ref {{Name:{exact}}}: "
        )),
        "{text}"
    );
    publish_with_lock(&git_env, "nowhere", "127.0.0.1:1/x:v1", &unknown);
    publish_with_lock(&git_env, "nonsense", "A?B", "x");
    for (package, message) in [
        (
            "nowhere",
            "cannot list the tags of image 127.0.0.1:1/x:v1: ",
        ),
        ("nonsense", "image reference \"A?B\": "),
    ] {
        let text = git_env.fail(&format!(
            "kiln rpkg upgrade down.{package}.v1 --workspace v2"
        ));
        assert!(text.contains(message), "{text}");
        let table = git_env.run(&format!(
            "kiln rpkg upgrade --discover upstream down.{package}.v1 2>log"
        ));
        assert!(table.ends_with(" Unknown\n"), "{table}");
        assert!(git_env.run("cat log").starts_with("[WARN] image "));
    }
    let text = git_env.run("kiln rpkg upgrade --discover downstream up.p.v9 2>log");
    assert_eq!(
        text,
        "No downstream package is known to be out of date; not all registries responded.\n"
    );
}

/// Packages in directories come from images too.
#[test]
fn a_package_in_a_directory_comes_from_an_image() {
    let registry = TestRegistry::scripted();
    let (first, second) = push_versions(&registry);
    let test_env = TestEnvironment::new();
    let host = &registry.host;
    let run = |script: &str| {
        let outcome = test_env.shell(&test_env.work(), script, &[]);
        assert_eq!(outcome.code, Some(0), "{script}: {outcome:?}");
        outcome
    };
    run(&format!("kiln pkg get oci://{host}/team/base:v1 mine"));
    run(&format!(
        "grep -q 'resourceVersion: {first}' mine/Kptfile && grep -q 'k: one' mine/c.yaml"
    ));
    run("sed -i 's/same: x/same: mine/' mine/c.yaml; kiln pkg update mine@v2");
    run(&format!(
        "grep -q 'resourceVersion: {second}' mine/Kptfile && grep -q 'k: two' mine/c.yaml"
    ));
    run("grep -q 'same: mine' mine/c.yaml && test -e mine/new.yaml && test ! -e mine/old.yaml");
    let diff = run("kiln pkg diff mine").stdout;
    assert!(diff.contains("-  same: x\n+  same: mine\n"), "{diff}");
}
