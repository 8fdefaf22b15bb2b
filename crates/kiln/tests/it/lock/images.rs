//! Images that kiln runs itself: by digest, frozen, proven, exported and imported.

use super::text_of;
use crate::images::ImageTest;

/// The name that an image has to have, so that a built-in function runs in place of it.
const SET_LABELS: &str = "gcr.io/kpt-fn/set-labels:v0.1.5";

/// Replaces the package by one whose function is built in.
fn use_built_in(test: &ImageTest, tier: &str) {
    let kptfile = format!(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: pkg\n  labels:\n    tier: web\npipeline:\n  \
         mutators:\n  - image: {SET_LABELS}\n    configMap: {{tier: {tier}}}\n"
    );
    test.test_env.write("pkg/Kptfile", &kptfile);
    let resource =
        "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels:\n    tier: web\n";
    test.test_env.write("pkg/a.yaml", resource);
}

fn lock(test: &ImageTest) -> String {
    let path = test.test_env.work().join("pkg/kiln.lock");
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The digest in the lock file.
fn digest(test: &ImageTest) -> String {
    let lock = lock(test);
    let digest = lock
        .lines()
        .find_map(|line| line.trim().strip_prefix("digest: "));
    digest.expect("a digest").to_owned()
}

#[track_caller]
fn run(test: &ImageTest, words: &str, code: i32) -> String {
    let ran = test.kiln(words);
    assert_eq!(ran.code, Some(code), "{words}: {ran:?}");
    format!("{}{}", ran.stdout, ran.stderr)
}

#[test]
fn a_locked_image_runs_without_a_network_on_another_machine() {
    let Some(test) = ImageTest::in_namespaces("locked", "sed s/old/new/") else {
        return;
    };
    const RENDER: &str = "fn render pkg --image-runtime=namespaces";
    run(&test, &format!("{RENDER} --frozen"), 1);
    run(&test, "lock pkg", 0);
    let digest = digest(&test);
    let image = &test.image;
    let entry = format!("- image: {image}\n  resolved: {image}\n  digest: {digest}\n");
    assert_eq!(lock(&test), text_of(&entry));
    run(&test, &format!("{RENDER} --frozen"), 0);
    assert!(
        test.resource().contains("value: new # kept"),
        "{}",
        test.resource()
    );

    let name = image.rsplit_once(':').expect("a tag").0;
    let exported = run(&test, "lock pkg --export images.tar", 0);
    assert_eq!(exported, format!("{name}@{digest}\n"));
    // The other store is another machine's.
    let other = test.test_env.work().join("other");
    let elsewhere = |words: &str| {
        let mut command = test.command(words);
        command.env("KILN_STORE", &other);
        crate::test_environment::run(&mut command, "")
    };
    test.test_env.write("pkg/a.yaml", crate::images::RESOURCE);
    let refused = elsewhere(&format!("{RENDER} --frozen"));
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains(&digest), "{}", refused.stderr);
    let imported = elsewhere("lock pkg --import images.tar");
    assert_eq!(imported.stdout, exported, "{imported:?}");
    let ran = elsewhere(&format!("{RENDER} --frozen"));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        test.resource().contains("value: new # kept"),
        "{}",
        test.resource()
    );

    // An archive of other images is not enough.
    let wrong = lock(&test).replace(&digest, &format!("sha256:{}", "0".repeat(64)));
    test.test_env.write("pkg/kiln.lock", &wrong);
    let refused = run(&test, "lock pkg --import images.tar", 1);
    assert!(
        refused.contains("does not have all images of kiln.lock"),
        "{refused}"
    );
}

#[test]
fn built_in_functions_are_proven_by_their_images() {
    // An image that returns its input: equal to the built-in function while that changes nothing.
    let Some(mut test) = ImageTest::in_namespaces("prove", "cat") else {
        return;
    };
    test.image = SET_LABELS.to_owned();
    run(&test, "image import image.tar --name IMAGE", 0);
    use_built_in(&test, "web");
    run(&test, "lock pkg", 0);
    const PROVE: &str = "lock pkg --prove --image-runtime=namespaces";
    let refused = run(&test, PROVE, 1);
    assert!(
        refused.contains("has no digest of the image for: gcr.io"),
        "{refused}"
    );
    assert!(refused.contains("kiln lock --digests"), "{refused}");

    // The store has the image, so that no registry is asked.
    run(&test, "lock pkg --digests", 0);
    assert!(
        lock(&test).contains("native: set-labels@v0.1.5#1"),
        "{}",
        lock(&test)
    );
    let before = crate::test_environment::files(&test.test_env.work().join("pkg"));
    let proven = run(&test, PROVE, 0);
    assert!(
        proven.contains("1 call(s) of built-in functions"),
        "{proven}"
    );

    use_built_in(&test, "other");
    let secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: s\nstringData:\n  password: hunter2-is-secret\ndata:\n  token: aHVudGVyMi10b2tlbg==\n";
    let secret = secret.replace("  name: s\n", "  name: s\n  labels:\n    tier: web\n");
    test.test_env.write("pkg/secret.yaml", &secret);
    let refused = run(&test, PROVE, 1);
    // It is meant for logs and reports.
    assert!(refused.contains(" password: (secret)\n"), "{refused}");
    for hidden in ["hunter2", "aHVudGVy", "internal.config.kubernetes.io"] {
        assert!(!refused.contains(hidden), "{hidden}: {refused}");
    }
    std::fs::remove_file(test.test_env.work().join("pkg/secret.yaml")).expect("the file");
    let refused = run(&test, PROVE, 1);
    assert!(
        refused.contains("--- image of gcr.io/kpt-fn/set-labels:v0.1.5"),
        "{refused}"
    );
    assert!(refused.contains("\n+    tier: other\n"), "{refused}");
    assert!(
        refused.contains("1 of 1 calls of built-in functions differ"),
        "{refused}"
    );
    // Nothing is written.
    use_built_in(&test, "web");
    let after = crate::test_environment::files(&test.test_env.work().join("pkg"));
    assert_eq!(after, before);

    // An image that cannot be run proves nothing.
    let name = test.image.clone();
    for name in [&name, "localhost/kiln/prove:v1"] {
        run(&test, &format!("image remove {name}"), 0);
    }
    let refused = run(&test, &format!("{PROVE} --image-pull-policy=Never"), 1);
    let wanted = format!("the image of {name} was not run");
    assert!(refused.contains(&wanted), "{refused}");
}
