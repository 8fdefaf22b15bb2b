//! Registries that are asked by way of a proxy.

use super::store::{amd64, one_image, reference};
use super::world::World;
use crate::{ErrorClass, Proxies, Registry, RegistryOptions};

fn client(world: &World, variables: &'static [(&str, &str)]) -> Registry {
    let proxies = Proxies::from_variables(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    });
    world.registry(RegistryOptions {
        proxies: proxies.unwrap(),
        ..RegistryOptions::default()
    })
}

#[tokio::test(start_paused = true)]
async fn a_registry_is_asked_through_the_proxy() {
    let world = World::default();
    let (_, _, root) = one_image(&world);
    world.add_proxy("p.test:3128", None);
    let registry = client(&world, &[("HTTPS_PROXY", "http://p.test:3128")]);
    let image = registry.image(&reference("r.test/a/b:v1"), &amd64()).await;
    assert_eq!(image.unwrap().digest, root.digest);
    let asked = world.asked();
    assert_eq!(asked.first().unwrap(), "CONNECT p.test:3128/r.test:443");
    // What goes through is TLS: the proxy sees nothing of it.
    assert!(
        asked
            .iter()
            .skip(1)
            .all(|line| line.contains(" r.test:443/v2/")),
        "{asked:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn exceptions_are_asked_directly() {
    let world = World::default();
    one_image(&world);
    world.add_proxy("p.test:3128", None);
    let variables = &[
        ("HTTPS_PROXY", "http://p.test:3128"),
        ("NO_PROXY", "r.test"),
    ];
    let registry = client(&world, variables);
    let image = registry.image(&reference("r.test/a/b:v1"), &amd64()).await;
    image.unwrap();
    let asked = world.asked();
    assert!(
        !asked.iter().any(|line| line.contains("CONNECT")),
        "{asked:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn credentials_go_to_the_proxy_alone() {
    let world = World::default();
    one_image(&world);
    world.add_proxy("p.test:3128", Some("Basic bWU6cGFzcw=="));
    let variables = &[("HTTPS_PROXY", "http://me:pass@p.test:3128")];
    let registry = client(&world, variables);
    let image = registry.image(&reference("r.test/a/b:v1"), &amd64()).await;
    image.unwrap();
    let (proxy, others): (Vec<_>, Vec<_>) = world
        .asked()
        .into_iter()
        .partition(|line| line.starts_with("CONNECT"));
    assert!(
        proxy
            .iter()
            .all(|line| line.ends_with(" Basic bWU6cGFzcw==")),
        "{proxy:?}"
    );
    assert!(
        !others.is_empty() && !others.iter().any(|line| line.contains("Basic")),
        "{others:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_proxy_that_refuses_is_named_and_not_gone_around() {
    let world = World::default();
    one_image(&world);
    world.add_proxy("p.test:3128", Some("Basic bWU6cGFzcw=="));
    let registry = client(&world, &[("HTTPS_PROXY", "http://p.test:3128")]);
    let error = registry.image(&reference("r.test/a/b:v1"), &amd64()).await;
    let error = error.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Unavailable);
    let source = std::error::Error::source(&error).map(ToString::to_string);
    let text = format!("{error}: {}", source.unwrap_or_default());
    assert!(
        text.contains("p.test:3128") && text.contains("407"),
        "{text}"
    );
    let asked = world.asked();
    assert!(
        asked.iter().all(|line| line.starts_with("CONNECT")),
        "{asked:?}"
    );
}
