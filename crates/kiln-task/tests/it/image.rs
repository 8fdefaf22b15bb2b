//! Packages in images, from a registry of a few lines.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use kiln_oci::{ImageSpec, LayerBuilder, Layout, Platform, RegistryOptions, RunConfig, add_image};
use kiln_task::image::RegistryImages;
use kiln_task::{CloneTask, CreateError, OciUpstream, RepositoryConfig, Task, TaskError, Upstream};

use crate::world::{new, pull, text, world};

/// Answers by path until the test is over; the address.
fn serve(answers: BTreeMap<String, (String, Vec<u8>)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = listener.local_addr().expect("it has one").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let answers = answers.clone();
            std::thread::spawn(move || answer(&stream, &answers));
        }
    });
    address
}

fn answer(stream: &TcpStream, answers: &BTreeMap<String, (String, Vec<u8>)>) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let mut writer = stream;
    loop {
        let request = lines.next()?.ok()?;
        while !lines.next()?.ok()?.is_empty() {}
        let path = request.split(' ').nth(1)?;
        let (status, kind, body) = match answers.get(path) {
            Some((kind, body)) => ("200 OK", kind.as_str(), body.as_slice()),
            None => ("404 Not Found", "text/plain", &b""[..]),
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        writer.write_all(head.as_bytes()).ok()?;
        if !request.starts_with("HEAD") {
            writer.write_all(body).ok()?;
        }
    }
}

#[test]
fn a_package_is_cloned_from_an_image() {
    let Some(world) = world() else { return };
    let kptfile = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: base\n";
    let layer = LayerBuilder::default()
        .file("Kptfile", 0o644, kptfile.as_bytes())
        .and_then(|layer| layer.file("bin/run", 0o755, b"#!/bin/sh\n"))
        .and_then(LayerBuilder::finish)
        .expect("it can be built");
    let mut layout = Layout::default();
    let image = ImageSpec {
        platform: Platform::this_machine(),
        run: RunConfig::default(),
        layers: vec![layer],
    };
    let root = add_image(&mut layout, image).expect("it can be added");
    let manifests = layout.manifests_below(&root).expect("it is there");
    let mut answers = BTreeMap::new();
    for stored in &manifests {
        let answer = (stored.descriptor.media_type.clone(), stored.bytes.to_vec());
        answers.insert("/v2/pkg/manifests/v1".to_owned(), answer.clone());
        answers.insert(
            format!("/v2/pkg/manifests/{}", stored.descriptor.digest),
            answer,
        );
        let kiln_oci::Manifest::Image(image) = &stored.manifest else {
            panic!("it is an image");
        };
        for blob in image.layers.iter().chain([&image.config]) {
            let bytes = layout.blob(&blob.digest).expect("it is there").to_vec();
            let path = format!("/v2/pkg/blobs/{}", blob.digest);
            answers.insert(path, ("application/octet-stream".to_owned(), bytes));
        }
    }
    let image = format!("{}/pkg:v1", serve(answers));
    let plain = world.repositories([RepositoryConfig::new("git", world.bare("repo"))]);
    let location = world.bare("small");
    let small = RegistryImages::new(RegistryOptions::default(), 100).expect("it can be made");
    let small = world
        .repositories([RepositoryConfig::new("git", location)])
        .with_images(Arc::new(small));
    let clone = |image: &str| {
        let upstream = Upstream {
            kind: "oci".to_owned(),
            oci: Some(OciUpstream {
                image: image.to_owned(),
            }),
            ..Upstream::default()
        };
        new(
            "git",
            "app",
            "v1",
            Some(Task::Clone(CloneTask { upstream })),
        )
    };
    let error = world
        .engine(&small)
        .create(&clone(&format!("oci://{image}")))
        .expect_err("it is too large");
    assert!(format!("{error:?}").contains("TooLarge"), "{error:?}");
    let engine = world.engine(&plain);
    let missing = image.replace("/pkg:", "/other:");
    let error = engine
        .create(&clone(&missing))
        .expect_err("it is not there");
    assert!(
        matches!(error, CreateError::Task(TaskError::Image { .. })),
        "{error}"
    );
    engine
        .create(&clone(&format!("oci://{image}")))
        .expect("it can be cloned");
    let (contents, _) = pull(&engine, "git.app.v1");
    let kptfile = text(&contents, "Kptfile");
    let lock = format!(
        "upstreamLock:\n  type: generic\n  generic:\n    storeID: oci\n    resourceID: {image}\n    resourceVersion: {}\n",
        root.digest
    );
    assert!(
        kptfile.contains("name: app") && kptfile.contains(&lock),
        "{kptfile}"
    );
    assert_eq!(
        contents.get("bin/run").map(|file| file.mode),
        Some(kiln_task::FileMode::Executable)
    );
}
