//! The content of a registry, and images for it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::network::{ReceivedRequest, Reply, TestNetwork};
use crate::{
    Descriptor, ImageLayout, ImageReference, ImageSpec, LayerBuilder, Platform, RunConfig,
    add_image,
};

/// The content of a registry, and its responses.
#[derive(Clone, Default)]
pub(super) struct Store {
    content: Arc<Mutex<StoreContent>>,
}

#[derive(Default)]
struct StoreContent {
    /// By repository and tag or digest: media type and bytes.
    manifests: HashMap<String, (String, Bytes)>,
    /// By repository and digest.
    blobs: HashMap<String, Bytes>,
}

impl Store {
    pub(super) fn put_manifest(&self, name: &str, media_type: &str, bytes: impl Into<Bytes>) {
        let entry = (media_type.to_owned(), bytes.into());
        self.content
            .lock()
            .unwrap()
            .manifests
            .insert(name.to_owned(), entry);
    }

    pub(super) fn put_blob(&self, name: &str, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        self.content
            .lock()
            .unwrap()
            .blobs
            .insert(name.to_owned(), bytes);
    }

    /// Stores an image as `repository:tag`.
    pub(super) fn put(&self, name: &str, layout: &ImageLayout, root: &Descriptor) {
        let (repository, _) = name.split_once(':').unwrap();
        for stored in layout.manifests_below(root).unwrap() {
            let Descriptor {
                digest, media_type, ..
            } = &stored.descriptor;
            self.put_manifest(
                &format!("{repository}:{digest}"),
                media_type,
                stored.bytes.clone(),
            );
            if let crate::Manifest::Image(image) = stored.manifest {
                for blob in image.layers.iter().chain([&image.config]) {
                    let bytes = layout.blob(&blob.digest).unwrap();
                    self.put_blob(&format!("{repository}:{}", blob.digest), bytes);
                }
            }
        }
        let bytes = layout.blob(&root.digest).unwrap();
        self.put_manifest(name, &root.media_type, bytes);
    }

    /// Responds like a registry.
    pub(super) fn respond(&self, request: &ReceivedRequest) -> Reply {
        let (path, query) = request
            .target
            .split_once('?')
            .unwrap_or((&request.target, ""));
        let path = path.strip_prefix("/v2/").unwrap();
        let mut content = self.content.lock().unwrap();
        let missing =
            || Reply::new(404).body(r#"{"errors":[{"code":"UNKNOWN","message":"not here"}]}"#);
        if let Some((repository, name)) = path.split_once("/manifests/") {
            let key = format!("{repository}:{name}");
            if request.method == "PUT" {
                content
                    .manifests
                    .insert(key, (request.content_type.clone(), request.body.clone()));
                return Reply::new(201);
            }
            return match content.manifests.get(&key) {
                Some((media_type, bytes)) => Reply::new(200)
                    .with("content-type", media_type)
                    .body(bytes.clone()),
                None => missing(),
            };
        }
        let (repository, name) = path.split_once("/blobs/").unwrap();
        match request.method.as_str() {
            "POST" => Reply::new(202).with(
                "location",
                &format!("/v2/{repository}/blobs/uploads/1?state=s"),
            ),
            "PUT" => {
                let digest = query.strip_prefix("state=s&digest=sha256%3A").unwrap();
                content.blobs.insert(
                    format!("{repository}:sha256:{digest}"),
                    request.body.clone(),
                );
                Reply::new(201)
            }
            _ => match content.blobs.get(&format!("{repository}:{name}")) {
                Some(bytes) if request.method == "GET" => Reply::new(200).body(bytes.clone()),
                Some(_) => Reply::new(200),
                None => missing(),
            },
        }
    }
}

/// An image for a platform with one file.
pub(super) fn image(layout: &mut ImageLayout, platform: &str, entrypoint: &str) -> Descriptor {
    let layer = LayerBuilder::default();
    let layer = layer.file("/bin/x", 0o755, platform.as_bytes()).unwrap();
    let spec = ImageSpec {
        platform: platform.parse().unwrap(),
        run: RunConfig {
            entrypoint: vec![entrypoint.to_owned()],
            cmd: vec!["--flag".to_owned()],
            env: vec!["A=1".to_owned()],
            user: "65534".to_owned(),
            working_dir: "/w".to_owned(),
            ..RunConfig::default()
        },
        layers: vec![layer.finish().unwrap()],
    };
    add_image(layout, spec).unwrap()
}

/// Adds the registry `r.test` with the image `a/b:v1` to a network.
pub(super) fn one_image(network: &TestNetwork) -> (Store, ImageLayout, Descriptor) {
    let (store, layout, root) = sample();
    let responding = store.clone();
    network.add("r.test:443", move |request| responding.respond(request));
    (store, layout, root)
}

/// A store with the image `a/b:v1`.
pub(super) fn sample() -> (Store, ImageLayout, Descriptor) {
    let store = Store::default();
    let mut layout = ImageLayout::default();
    let root = image(&mut layout, "linux/amd64", "/bin/x");
    store.put("a/b:v1", &layout, &root);
    (store, layout, root)
}

pub(super) fn reference(text: &str) -> ImageReference {
    text.parse().unwrap()
}

pub(super) fn amd64() -> Platform {
    Platform::linux("amd64")
}
