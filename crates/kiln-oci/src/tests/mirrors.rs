//! Mirrors: who is asked first, and who has the last word.

use std::collections::BTreeMap;

use super::store::{amd64, one_image, reference, sample};
use super::world::{Reply, World};
use crate::{DockerConfig, ErrorClass, Keychain, Mirror, Registry, RegistryOptions};

fn client(world: &World, mirrors: &[&str]) -> Registry {
    let mirrors = mirrors
        .iter()
        .map(|mirror| mirror.parse().unwrap())
        .collect();
    let config = br#"{"auths":{"r.test":{"auth":"bWU6cGFzcw=="}}}"#;
    world.registry(RegistryOptions {
        keychain: Keychain::fixed(DockerConfig::parse(config).unwrap()),
        mirrors: BTreeMap::from([("r.test".to_owned(), mirrors)]),
        ..RegistryOptions::default()
    })
}

#[tokio::test(start_paused = true)]
async fn a_mirror_is_asked_first_and_under_its_prefix() {
    let world = World::default();
    let (_, layout, root) = one_image(&world);
    let (mirror, _, _) = sample();
    mirror.put("copy/a/b:v1", &layout, &root);
    world.add("m.test:5000", move |seen| mirror.answer(seen));
    let registry = client(&world, &["m.test:5000/copy"]);
    let image = registry
        .image(&reference("r.test/a/b:v1"), &amd64())
        .await
        .unwrap();
    assert_eq!(image.digest, root.digest);
    assert!(
        world
            .asked()
            .iter()
            .all(|line| line.contains("m.test:5000/v2/copy/a/b/"))
    );
    // Others are not asked for what they do not mirror.
    let error = registry
        .image(&reference("s.test/a/b:v1"), &amd64())
        .await
        .unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unavailable);
    assert!(world.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn the_registry_is_asked_when_mirrors_have_no_answer() {
    let world = World::default();
    let (store, _, root) = one_image(&world);
    world.add("missing.test:443", |_| Reply::new(404));
    world.add("closed.test:443", |_| {
        Reply::new(401).with("www-authenticate", "Basic realm=x")
    });
    world.add("broken.test:443", |_| Reply::new(500));
    let wrong = r#"{"schemaVersion":2,"manifests":[]}"#;
    world.add("liar.test:443", move |_| Reply::new(200).body(wrong));
    let mirrors = [
        "gone.test",
        "missing.test",
        "closed.test",
        "broken.test",
        "liar.test",
    ];
    let registry = client(&world, &mirrors);
    let name = reference("r.test/a/b").with_digest(root.digest.clone());
    let image = registry.image(&name, &amd64()).await.unwrap();
    assert_eq!(image.digest, root.digest);
    let asked = world.asked();
    for mirror in &mirrors[1..] {
        let times = asked.iter().filter(|line| line.contains(mirror)).count();
        assert_eq!(times, 1, "{mirror}");
    }
    assert!(
        !asked.concat().contains("Basic"),
        "the registry's password is not for mirrors"
    );

    drop(store);
    let missing = client(&world, &["missing.test"])
        .manifest(&reference("r.test/a/b:v9"))
        .await;
    let error = missing.unwrap_err();
    assert_eq!(
        error.to_string(),
        "r.test/a/b:v9 is not in the registry: not here (UNKNOWN)"
    );
}

#[test]
fn mirrors_are_hosts_with_a_prefix() {
    for right in [
        "m.test",
        "m.test:5000",
        "m.test/a/b",
        "localhost/x/",
        "host",
    ] {
        right.parse::<Mirror>().unwrap();
    }
    for wrong in [
        "",
        "/x",
        "https://m.test",
        "m.test/A",
        "m.test/a b",
        "m.test/a:1",
        "m.test/../x",
    ] {
        assert!(wrong.parse::<Mirror>().is_err(), "{wrong}");
    }
}
