//! Ranges and digests of a registry.

use super::LockTest;
use crate::package_images::registry::TestRegistry;

/// The layer of an image; other texts give other digests.
fn layer(content: &str) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_size(content.len() as u64);
    header.set_mode(0o755);
    let added = archive.append_data(&mut header, "function", content.as_bytes());
    added.expect("an entry");
    archive.into_inner().expect("an archive")
}

/// An engine that prints its arguments and returns the resources.
const ENGINE: &str = "#!/bin/sh\n\
    if [ \"$1\" = version ]; then echo 24.0.0; exit; fi\n\
    if [ \"$1\" = image ]; then exit; fi\n\
    for word in \"$@\"; do last=$word; done\n\
    echo \"$last\" >> ENGINE_LOG\n\
    cat\n";

#[test]
fn a_range_is_looked_up_once() {
    let registry = TestRegistry::scripted();
    let old = registry.push("team/fn", "v1.0.0", vec![layer("1.0.0")]);
    registry.push("team/fn", "v2.0.0", vec![layer("2.0.0")]);
    let image = format!("{}/team/fn", registry.host);
    let test = LockTest::new(&[&format!("{{image: '{image}', tag: ~1.0}}")]);
    let log = test.test_env.work().join("engine.log");
    let engine = ENGINE.replace("ENGINE_LOG", &log.display().to_string());
    test.test_env.write_program("../bin/docker", &engine);

    test.run("lock pkg", 0);
    let lock = test.lock().expect("a lock");
    let entry =
        format!("- image: {image}\n  tag: ~1.0\n  resolved: {image}:v1.0.0\n  digest: {old}\n");
    assert!(lock.contains(&entry), "{lock}");
    assert!(!lock.contains("native"), "{lock}");

    // A newer version, and another image under the old tag: the lock decides.
    let new = registry.push("team/fn", "v1.0.7", vec![layer("1.0.7")]);
    registry.push("team/fn", "v1.0.0", vec![layer("other")]);
    test.run("lock pkg", 0);
    test.run("lock pkg --check", 0);
    let checked = test.run("lock pkg --check --outdated", 3);
    let line = format!("{image} (~1.0): outdated, {image}:v1.0.0 → {image}:v1.0.7\n");
    assert_eq!(checked.stdout, line);
    assert_eq!(test.lock(), Some(lock.clone()));

    // The engine gets the digest, and not the tag.
    test.run("fn render pkg --image-runtime=docker", 0);
    let called = std::fs::read_to_string(&log).expect("the engine was called");
    assert_eq!(called, format!("{image}@{old}\n"));
    assert_eq!(test.lock(), Some(lock));

    let short = |digest: &str| digest["sha256:".len()..].get(..12).map(str::to_owned);
    let updated = test.run("lock pkg --update fn", 0);
    let line = format!(
        "{image} (~1.0): {image}:v1.0.0@sha256:{} → {image}:v1.0.7@sha256:{}\n",
        short(&old).expect("a digest"),
        short(&new).expect("a digest")
    );
    assert_eq!(updated.stdout, line);
    test.run("lock pkg --check --outdated", 0);
}

#[test]
fn a_render_completes_the_lock_from_the_registry() {
    let registry = TestRegistry::scripted();
    let digest = registry.push("team/fn", "v1", vec![layer("one")]);
    let image = format!("{}/team/fn:v1", registry.host);
    let test = LockTest::new(&[&format!("image: '{image}'")]);
    let log = test.test_env.work().join("engine.log");
    let engine = ENGINE.replace("ENGINE_LOG", &log.display().to_string());
    test.test_env.write_program("../bin/docker", &engine);
    test.run("fn render pkg --lock --image-runtime=docker", 0);
    let lock = test.lock().expect("a lock");
    assert!(lock.contains(&format!("  digest: {digest}\n")), "{lock}");
    let called = std::fs::read_to_string(&log).expect("the engine was called");
    let repository = format!("{}/team/fn", registry.host);
    assert_eq!(called, format!("{repository}@{digest}\n"));

    // An image that no registry has: `lock` fails, and a render runs it without an entry.
    let unknown = format!("{}/team/unknown:v1", registry.host);
    test.functions(&[&format!("image: '{unknown}'")]);
    let refused = test.run("lock pkg", 1);
    assert!(
        refused.stderr.contains(&format!("cannot lock {unknown}")),
        "{}",
        refused.stderr
    );
    let before = test.lock();
    let ran = test.run("fn render pkg --image-runtime=docker", 0);
    let warning = format!("kiln.lock gets no entry for {unknown}");
    assert!(ran.stderr.contains(&warning), "{}", ran.stderr);
    assert_eq!(test.lock(), before);
}

#[test]
fn a_built_in_function_needs_no_registry() {
    // The port is not open.
    let image = "localhost:1/kpt-fn/set-namespace:v0.4.1";
    let test = LockTest::new(&[
        "{image: 'gcr.io/kpt-fn/set-namespace:v0.4.1', configMap: {namespace: prod}}",
    ]);
    test.run("lock pkg", 0);
    let lock = test.lock().expect("a lock");
    assert!(!lock.contains("digest"), "{lock}");
    // With a digest beside it, the built-in function runs too.
    let native = "  native: set-namespace@v0.4.1#1\n";
    let digest = format!("  digest: sha256:{}\n{native}", "0".repeat(64));
    test.test_env
        .write("pkg/kiln.lock", &lock.replace(native, &digest));
    test.run("fn render pkg --frozen", 0);
    test.run("lock pkg --check", 0);
    // Other functions need one.
    test.functions(&[&format!("image: '{image}'")]);
    let refused = test.run("lock pkg", 1);
    assert!(
        refused.stderr.contains(&format!("cannot lock {image}")),
        "{}",
        refused.stderr
    );
}
