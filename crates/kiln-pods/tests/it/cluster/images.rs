//! Images for tests, made of two static programs and pushed to the cluster's registry.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use kiln_oci::{
    CacheOptions, ImageCache, ImageLayout, ImageReference, ImageSpec, Keychain, LayerBuilder,
    PlainHttp, Platform, RegistryClient, RegistryOptions, RunConfig, add_image,
};
use kiln_pods::RegistryResolver;
use serde_json::json;
use tokio::sync::OnceCell;

/// The registry with the images.
#[derive(Clone)]
pub(super) struct Images {
    pub(super) registry: String,
    client: RegistryClient,
}

/// A static program; `tests/cluster/up` installs it.
const BUSYBOX: &str = "/bin/busybox";

static PUSHED: OnceCell<()> = OnceCell::const_new();

impl Images {
    /// Pushes the images if this is the first test that needs them.
    pub(super) async fn ready(registry: &str) -> Images {
        let options = RegistryOptions {
            plain_http: [(registry.to_owned(), PlainHttp::Anonymous)].into(),
            ..RegistryOptions::default()
        };
        let images = Images {
            registry: registry.to_owned(),
            client: RegistryClient::new(options),
        };
        PUSHED.get_or_init(|| images.push_all()).await;
        images
    }

    /// The image `secret` in the registry that requires a password and has its own CA. Writes the CA and `config.json`
    /// to the directory.
    pub(super) async fn private(directory: &Path) -> Images {
        let variable = |name: &str| env::var(name).expect("tests/cluster/up prints it");
        let registry = variable("KILN_CLUSTER_PRIVATE_REGISTRY");
        let login = STANDARD.encode(variable("KILN_CLUSTER_PRIVATE_LOGIN"));
        let config = json!({"auths": {&registry: {"auth": login}}});
        let file = directory.join("config.json");
        std::fs::write(&file, config.to_string()).unwrap();
        let authority = Path::new(&variable("KILN_CLUSTER")).join("pki/registry-ca.crt");
        std::fs::copy(authority, directory.join("ca.crt")).unwrap();
        let options = RegistryOptions {
            keychain: Keychain::file(file),
            ca_directory: Some(directory.to_owned()),
            ..RegistryOptions::default()
        };
        let images = Images {
            registry,
            client: RegistryClient::new(options),
        };
        let busybox = std::fs::read(BUSYBOX).unwrap();
        let layer = LayerBuilder::default().file("bin/cat", 0o755, &busybox);
        let run = RunConfig {
            entrypoint: vec!["/bin/cat".to_owned()],
            ..RunConfig::default()
        };
        images
            .push("secret", run, layer.unwrap().finish().unwrap())
            .await;
        images
    }

    pub(super) fn name(&self, image: &str) -> String {
        format!("{}/kiln-pods-test/{image}:v1.0", self.registry)
    }

    /// A resolver for the images of this registry.
    pub(super) fn known(&self) -> Arc<RegistryResolver> {
        let cache = ImageCache::new(self.client.clone(), CacheOptions::default());
        Arc::new(RegistryResolver::new(cache))
    }

    async fn push_all(&self) {
        let busybox = std::fs::read(BUSYBOX).expect("tests/cluster/up installs busybox-static");
        let wrapper = std::fs::read(wrapper()).unwrap();
        let tools = LayerBuilder::default()
            .file("bin/cp", 0o755, &busybox)
            .unwrap()
            .file(
                "home/nonroot/wrapper-server/wrapper-server",
                0o755,
                &wrapper,
            )
            .unwrap()
            .file(
                "home/nonroot/wrapper-server/grpc-health-probe",
                0o755,
                &wrapper,
            )
            .unwrap();
        let environment = vec!["PATH=/bin".to_owned()];
        let run = RunConfig {
            env: environment.clone(),
            ..RunConfig::default()
        };
        self.push("wrapper", run, tools.finish().unwrap()).await;
        let layer = LayerBuilder::default()
            .file("bin/sh", 0o755, &busybox)
            .unwrap();
        let layer = layer.file("bin/busybox", 0o755, &busybox).unwrap();
        let layer = layer.finish().unwrap();
        let script = |text: &str| Some(["sh", "-c", text].map(str::to_owned).to_vec());
        for (name, entrypoint) in [
            ("echo", script("busybox cat")),
            ("other", script("busybox cat; true")),
            ("slow", script("busybox sleep 3; busybox cat")),
            ("broken", script("echo it is broken >&2; exit 3")),
            ("nothing", None),
        ] {
            let run = RunConfig {
                entrypoint: entrypoint.unwrap_or_default(),
                env: environment.clone(),
                ..RunConfig::default()
            };
            self.push(name, run, layer.clone()).await;
        }
    }

    async fn push(&self, name: &str, run: RunConfig, layer: Bytes) {
        let mut layout = ImageLayout::default();
        let image = ImageSpec {
            platform: Platform::this_machine(),
            run,
            layers: vec![layer],
        };
        let root = add_image(&mut layout, image).unwrap();
        let reference: ImageReference = self.name(name).parse().unwrap();
        self.client.push(&reference, &layout, &root).await.unwrap();
    }
}

/// Builds a static wrapper server, which runs in any image.
fn wrapper() -> PathBuf {
    if let Some(path) = env::var_os("KILN_STATIC_WRAPPER") {
        return path.into();
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("static");
    let mut build = Command::new(root.join("deploy/build-wrapper"));
    let output = build
        .args(["--profile", "dev", "--target-dir"])
        .arg(directory)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    PathBuf::from(String::from_utf8(output.stdout).unwrap().trim())
}
