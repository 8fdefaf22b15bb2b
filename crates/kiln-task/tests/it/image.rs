//! Packages in images.

use std::sync::Arc;

use kiln_oci::{Keychain, RegistryOptions};
use kiln_task::image::RegistryImages;
use kiln_task::{
    CloneTask, CreateError, FileMode, NewRevision, OciUpstream, RepositoryConfig, Task, TaskError,
    Upstream,
};

use crate::archive::{archive, file};
use crate::fixture::{fixture, new, pull, text};
use crate::registry::{ROBOT, TestRegistry};

#[test]
fn a_package_is_cloned_from_a_stand_in_registry() {
    let registry = TestRegistry::scripted();
    registry.say(
        "/v2/nonsense/manifests/v1",
        "application/vnd.oci.image.manifest.v1+json",
        "{",
    );
    a_package_is_cloned_from_an_image(&registry);
}

#[test]
fn a_package_is_cloned_from_a_real_registry() {
    if let Some(registry) = TestRegistry::program() {
        a_package_is_cloned_from_an_image(&registry);
    }
}

const KPTFILE: &str = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: base\n";

/// The revision that begins as a copy of an image's package.
fn clone(image: &str) -> NewRevision {
    let upstream = Upstream {
        kind: "oci".to_owned(),
        oci: Some(OciUpstream {
            image: image.to_owned(),
        }),
        ..Upstream::default()
    };
    let task = Task::Clone(CloneTask { upstream });
    new("git", "app", "v1", Some(task))
}

#[test]
fn a_registry_with_a_password_needs_credentials() {
    let Some(fixture) = fixture() else { return };
    let registry = TestRegistry::guarded();
    let host = &registry.host;
    let layer = archive(&[file("Kptfile", KPTFILE)]);
    registry.push("pkg", "v1", vec![layer]);
    let image = format!("oci://{host}/pkg:v1");
    let repositories = fixture.repositories([RepositoryConfig::new("git", fixture.bare("repo"))]);
    let error = fixture.engine(&repositories).create(&clone(&image));
    let error = error.expect_err("there are no credentials");
    assert!(
        matches!(error, CreateError::Task(TaskError::Image { .. })),
        "{error}"
    );
    let config = format!("{{\"auths\":{{\"{host}\":{{\"auth\":\"{ROBOT}\"}}}}}}");
    fixture.write("", "config.json", &config);
    let options = RegistryOptions {
        keychain: Keychain::file(fixture.path("config.json")),
        ..RegistryOptions::default()
    };
    let images = RegistryImages::new(options, 1024 * 1024).expect("it can be made");
    let repositories = repositories.with_images(Arc::new(images));
    let created = fixture.engine(&repositories).create(&clone(&image));
    created.expect("it can be cloned");
}

fn a_package_is_cloned_from_an_image(registry: &TestRegistry) {
    let Some(fixture) = fixture() else { return };
    let layer = archive(&[
        file("Kptfile", KPTFILE),
        ("bin/run", tar::EntryType::Regular, 0o755, "#!/bin/sh\n"),
    ]);
    let digest = registry.push("pkg", "v1", vec![layer]);
    let image = format!("{}/pkg:v1", registry.host);
    let plain = fixture.repositories([RepositoryConfig::new("git", fixture.bare("repo"))]);
    let location = fixture.bare("small");
    let small = RegistryImages::new(RegistryOptions::default(), 100).expect("it can be made");
    let small = fixture
        .repositories([RepositoryConfig::new("git", location)])
        .with_images(Arc::new(small));
    let error = fixture
        .engine(&small)
        .create(&clone(&format!("oci://{image}")))
        .expect_err("it is too large");
    assert!(format!("{error:?}").contains("TooLarge"), "{error:?}");
    let engine = fixture.engine(&plain);
    for other in ["/other:", "/nonsense:"] {
        let error = engine
            .create(&clone(&image.replace("/pkg:", other)))
            .expect_err("it is not there, or is not an image");
        assert!(
            matches!(error, CreateError::Task(TaskError::Image { .. })),
            "{error}"
        );
    }
    engine
        .create(&clone(&format!("oci://{image}")))
        .expect("it can be cloned");
    let (contents, _) = pull(&engine, "git.app.v1");
    let kptfile = text(&contents, "Kptfile");
    let lock = format!(
        "upstreamLock:\n  type: generic\n  generic:\n    storeID: oci\n    resourceID: {image}\n    resourceVersion: {digest}\n"
    );
    assert!(
        kptfile.contains("name: app") && kptfile.contains(&lock),
        "{kptfile}"
    );
    assert_eq!(
        contents.get("bin/run").map(|file| file.mode),
        Some(FileMode::Executable)
    );
}
