//! A registry's store, and images to put into it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::world::{Reply, Seen, World};
use crate::{
    Descriptor, ImageSpec, LayerBuilder, Layout, Platform, Reference, RunConfig, add_image,
};

/// What a registry holds, and how it answers when nothing is in the way.
#[derive(Clone, Default)]
pub(super) struct Store {
    held: Arc<Mutex<Held>>,
}

#[derive(Default)]
struct Held {
    /// By repository and tag or digest: type and bytes.
    manifests: HashMap<String, (String, Bytes)>,
    /// By repository and digest.
    blobs: HashMap<String, Bytes>,
}

impl Store {
    pub(super) fn put_manifest(&self, name: &str, media_type: &str, bytes: impl Into<Bytes>) {
        let entry = (media_type.to_owned(), bytes.into());
        self.held
            .lock()
            .unwrap()
            .manifests
            .insert(name.to_owned(), entry);
    }

    pub(super) fn put_blob(&self, name: &str, bytes: impl Into<Bytes>) {
        let bytes = bytes.into();
        self.held
            .lock()
            .unwrap()
            .blobs
            .insert(name.to_owned(), bytes);
    }

    /// Puts an image under a tag, as `repository:tag`.
    pub(super) fn put(&self, name: &str, layout: &Layout, root: &Descriptor) {
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

    /// Answers as registries do.
    pub(super) fn answer(&self, seen: &Seen) -> Reply {
        let (path, query) = seen.target.split_once('?').unwrap_or((&seen.target, ""));
        let path = path.strip_prefix("/v2/").unwrap();
        let mut held = self.held.lock().unwrap();
        let missing =
            || Reply::new(404).body(r#"{"errors":[{"code":"UNKNOWN","message":"not here"}]}"#);
        if let Some((repository, name)) = path.split_once("/manifests/") {
            let key = format!("{repository}:{name}");
            if seen.method == "PUT" {
                held.manifests
                    .insert(key, (seen.content_type.clone(), seen.body.clone()));
                return Reply::new(201);
            }
            return match held.manifests.get(&key) {
                Some((media_type, bytes)) => Reply::new(200)
                    .with("content-type", media_type)
                    .body(bytes.clone()),
                None => missing(),
            };
        }
        let (repository, name) = path.split_once("/blobs/").unwrap();
        match seen.method.as_str() {
            "POST" => Reply::new(202).with(
                "location",
                &format!("/v2/{repository}/blobs/uploads/1?state=s"),
            ),
            "PUT" => {
                let digest = query.strip_prefix("state=s&digest=sha256%3A").unwrap();
                held.blobs
                    .insert(format!("{repository}:sha256:{digest}"), seen.body.clone());
                Reply::new(201)
            }
            _ => match held.blobs.get(&format!("{repository}:{name}")) {
                Some(bytes) if seen.method == "GET" => Reply::new(200).body(bytes.clone()),
                Some(_) => Reply::new(200),
                None => missing(),
            },
        }
    }
}

/// An image for a platform with one file.
pub(super) fn image(layout: &mut Layout, platform: &str, entrypoint: &str) -> Descriptor {
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
        },
        layers: vec![layer.finish().unwrap()],
    };
    add_image(layout, spec).unwrap()
}

/// A world with one registry, `r.test`, that holds `a/b:v1`; and that image.
pub(super) fn one_image(world: &World) -> (Store, Layout, Descriptor) {
    let (store, layout, root) = sample();
    let answering = store.clone();
    world.add("r.test:443", move |seen| answering.answer(seen));
    (store, layout, root)
}

/// A store that holds `a/b:v1`.
pub(super) fn sample() -> (Store, Layout, Descriptor) {
    let store = Store::default();
    let mut layout = Layout::default();
    let root = image(&mut layout, "linux/amd64", "/bin/x");
    store.put("a/b:v1", &layout, &root);
    (store, layout, root)
}

pub(super) fn reference(text: &str) -> Reference {
    text.parse().unwrap()
}

pub(super) fn amd64() -> Platform {
    Platform::linux("amd64")
}
