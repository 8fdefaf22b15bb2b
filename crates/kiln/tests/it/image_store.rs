//! `kiln image`: pulled, listed, moved as an archive, verified, collected, and the hints of its errors.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::package_images::registry::TestRegistry;
use crate::test_environment::{Outcome, TestEnvironment};

/// A layer with one program.
fn layer(content: &str) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(content.len() as u64);
    header.set_mode(0o755);
    archive
        .append_data(&mut header, "bin/function", content.as_bytes())
        .expect("an entry");
    archive.into_inner().expect("an archive")
}

struct ImageTest {
    env: TestEnvironment,
    registry: TestRegistry,
    image: String,
    digest: String,
}

impl ImageTest {
    fn new() -> ImageTest {
        let registry = TestRegistry::scripted();
        let digest = registry.push("team/function", "v1", vec![layer("#!/bin/sh\ncat\n")]);
        ImageTest {
            env: TestEnvironment::new(),
            image: format!("{}/team/function:v1", registry.host),
            registry,
            digest,
        }
    }

    fn kiln(&self, args: &[&str]) -> Outcome {
        let mut all = vec!["image"];
        all.extend(args);
        self.env.kiln(&all, "")
    }

    /// Runs a command that succeeds and returns its output.
    #[track_caller]
    fn output(&self, args: &[&str]) -> String {
        let outcome = self.kiln(args);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert_eq!(outcome.stderr, "", "{outcome:?}");
        outcome.stdout
    }

    /// Runs a command that fails and returns its error.
    #[track_caller]
    fn error(&self, args: &[&str]) -> String {
        let outcome = self.kiln(args);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert_eq!(outcome.stdout, "", "{outcome:?}");
        outcome.stderr
    }
}

#[test]
fn an_image_from_pull_to_gc() {
    let test = ImageTest::new();
    let ImageTest { image, digest, .. } = &test;
    let named = format!("{}/team/function@{digest}\n", test.registry.host);
    assert_eq!(test.output(&["pull", image]), named);
    assert_eq!(
        test.output(&["pull", image, "--image-pull-policy=Never"]),
        named
    );

    let table = test.output(&["list"]);
    let short = &digest[.."sha256:".len() + 12];
    assert!(table.starts_with("IMAGE"), "{table}");
    assert!(
        table.contains(image.as_str()) && table.contains(short),
        "{table}"
    );
    let names = test.output(&["ls", "-o", "jsonpath={.items[0].references[0]}"]);
    assert_eq!(names, *image);

    assert_eq!(test.output(&["export", image, "image.tar"]), "");
    let verified = test.output(&["verify"]);
    assert!(
        verified.starts_with("1 image(s), 3 blob(s), "),
        "{verified}"
    );

    // The other store is another machine's.
    let imported = test.output(&["import", "image.tar", "--store", "other"]);
    assert_eq!(imported, format!("{image} {digest}\n"));
    let store = ["--store", "other"];
    let found = [
        &["pull", image, "--image-pull-policy=Never"],
        store.as_slice(),
    ]
    .concat();
    assert_eq!(test.output(&found), named);
    let work = test.env.work();
    let names: Vec<_> = fs::read_dir(&work).expect("a directory").collect();
    assert_eq!(names.len(), 2, "image.tar and other: {names:?}");

    let removed = test.output(&["remove", image, "--store", "other"]);
    assert_eq!(removed, format!("removed image {digest}\n"));
    let collected = test.output(&["gc", "--size=0"]);
    assert!(
        collected.starts_with(&format!("removed image {digest}\nfreed ")),
        "{collected}"
    );
    let listed = test.kiln(&["list"]);
    assert_eq!(listed.stderr, "The store has no images.\n");
}

#[test]
fn damage_is_found_and_removed() {
    let test = ImageTest::new();
    test.output(&["pull", &test.image, "--store=store"]);
    let root = test.env.work().join("store/roots");
    let root = fs::read_dir(root)
        .expect("a directory")
        .next()
        .expect("an image");
    let file = root.expect("an image").path().join("root/bin/function");
    fs::write(file, "#!/bin/sh\nrm\n").expect("writes");
    let outcome = test.kiln(&["verify", "--store=store"]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let expected = format!("image {}: /bin/function was changed\n", test.digest);
    assert!(outcome.stdout.starts_with(&expected), "{outcome:?}");
    assert!(
        outcome
            .stderr
            .contains("hint: remove what is damaged with --remove"),
        "{outcome:?}"
    );
    let removed = test.kiln(&["verify", "--store=store", "--remove"]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    let expected = format!("removed image {}\n", test.digest);
    assert!(removed.stdout.ends_with(&expected), "{removed:?}");
    test.output(&["pull", &test.image, "--store=store"]);
    test.output(&["verify", "--store=store"]);
}

#[test]
fn errors_have_hints() {
    let test = ImageTest::new();
    let check = |args: &[&str], parts: &[&str]| {
        let error = test.error(args);
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in:\n{error}");
        }
    };
    let missing = format!("{}/team/function:v2", test.registry.host);
    check(
        &["pull", &missing],
        &[
            "is not in the registry",
            "\nhint: check the name and the tag of the image",
        ],
    );
    check(
        &["pull", &missing, "--image-pull-policy=Never"],
        &[
            "is not in the store, and the pull policy is Never",
            "\nhint: pull it with `kiln image pull ",
        ],
    );
    check(
        &["pull", "127.0.0.1:1/a/b:v1"],
        &["cannot reach", "\nhint: check the network"],
    );
    let check_usage = |args: &[&str], part: &str| {
        let refused = test.kiln(args);
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert!(refused.stderr.contains(part), "{refused:?}");
    };
    check_usage(&["pull", "example.com/UPPER"], "is not a valid repository");
    check(
        &["remove", &missing],
        &["the store has no image", "\nhint: list the images"],
    );
    check(&["remove"], &["an image is required unless --all is set"]);
    check(
        &["export", &missing, "out.tar"],
        &["the store has no image"],
    );
    test.env.write("broken.tar", "not an archive");
    check(&["import", "broken.tar"], &["cannot import broken.tar"]);
    check(&["import", "missing.tar"], &["cannot open missing.tar"]);
    check_usage(&["gc", "--size=x"], "is not a size");
    let work = test.env.work();
    let names: Vec<_> = fs::read_dir(&work).expect("a directory").collect();
    assert_eq!(names.len(), 1, "only broken.tar: {names:?}");

    let store = work.join("store");
    fs::create_dir(&store).expect("a directory");
    fs::set_permissions(&store, fs::Permissions::from_mode(0o777)).expect("a mode");
    check(
        &["list", "--store=store"],
        &[
            "other users can write to the image store store (mode 777)",
            "\nhint: run `chmod go-w store`",
        ],
    );
}

#[test]
fn the_store_is_where_the_environment_says() {
    let test = ImageTest::new();
    let work = test.env.work();
    let pull = format!("kiln image pull {}", test.image);
    let check = |variables: &[(&str, &str)], store: &str| {
        let outcome = test.env.shell(&work, &pull, variables);
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(work.join(store).join("roots").is_dir(), "{store}");
    };
    check(&[], "../home/.cache/kiln/store");
    check(&[("XDG_CACHE_HOME", "cache")], "cache/kiln/store");
    check(&[("KILN_STORE", "own"), ("XDG_CACHE_HOME", "other")], "own");
    assert!(!work.join("other").exists());
}

#[test]
fn an_old_image_is_used_while_the_registry_is_away() {
    let test = ImageTest::new();
    test.output(&["pull", &test.image]);
    let path = "/v2/team/function/manifests/v1";
    test.registry.say(path, "text/plain", "a proxy's page");
    let outcome = test.kiln(&["pull", &test.image]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome.stdout.ends_with(&format!("@{}\n", test.digest)),
        "{outcome:?}"
    );
    let expected = format!("[WARN] using the cached image {}: ", test.image);
    assert!(outcome.stderr.starts_with(&expected), "{outcome:?}");
}

#[test]
fn a_function_warns_that_its_registry_is_away() {
    let test = ImageTest::new();
    let resource = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";
    test.env.write("pkg/a.yaml", resource);
    test.output(&["pull", &test.image]);
    let path = "/v2/team/function/manifests/v1";
    test.registry.say(path, "text/plain", "a proxy's page");
    let words = [
        "fn",
        "eval",
        "pkg",
        "--image-runtime=auto",
        "--image-pull-policy=Always",
        "--image",
        &test.image,
    ];
    // Whether the function runs does not matter: its image has no shell.
    let outcome = test.env.kiln(&words, "");
    let expected = format!("[WARN] using the cached image {}: ", test.image);
    assert!(outcome.stderr.contains(&expected), "{outcome:?}");
}

#[test]
fn doctor_contacts_the_registries_that_have_credentials() {
    let test = ImageTest::new();
    let here = &test.registry.host;
    let config = format!("{{\"auths\": {{\"{here}\": {{}}, \"http://127.0.0.1:1/v1/\": {{}}}}}}");
    test.env.write("docker/config.json", &config);
    let work = test.env.work();
    let outcome = test
        .env
        .shell(&work, "kiln doctor", &[("DOCKER_CONFIG", "docker")]);
    let line = |name: &str| {
        let mut lines = outcome.stdout.lines();
        let found = lines.find(|line| line.contains(&format!(" {name}: ")));
        found.unwrap_or_else(|| panic!("{name}: {outcome:?}"))
    };
    assert!(line(here).contains("responds"), "{outcome:?}");
    assert!(line("127.0.0.1:1").contains("missing"), "{outcome:?}");
    assert!(
        outcome.stdout.contains("fix: check the network"),
        "{outcome:?}"
    );
}
