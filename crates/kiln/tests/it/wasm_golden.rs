//! kpt's golden case with functions in WebAssembly. Its two images are not recorded; `tests/go_fields` stands in for both.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use kiln_oci::media_type::{OCI_CONFIG, OCI_LAYER, OCI_MANIFEST};
use kiln_oci::{Digest, ImageLayout, ImageManifest, LayerBuilder, write_archive};

use crate::faults::skip;
use crate::shared;
use crate::test_environment::{TestEnvironment, files};

const TEST: &str = "the_golden_case_of_kpt_passes";

const IMAGES: [&str; 2] = [
    "ghcr.io/kptdev/krm-functions-catalog/wasm/set-namespace:v0.5.1",
    "ghcr.io/kptdev/krm-functions-catalog/wasm/set-labels:v0.2.4",
];

/// The function, built by the Go of this machine; `None` if there is no Go.
fn build() -> Option<PathBuf> {
    let module = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go_fields.wasm");
    let built = Command::new("go")
        .args(["build", "-o"])
        .arg(&module)
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/go_fields"))
        .env("GOOS", "js")
        .env("GOARCH", "wasm")
        .env("GOFLAGS", "-mod=mod")
        .env("GOTOOLCHAIN", "local")
        .output()
        .ok()?;
    let message = String::from_utf8_lossy(&built.stderr);
    assert!(built.status.success(), "go build: {message}");
    Some(module)
}

/// An archive with both images, in kpt's form.
fn write_images(module: &Path, archive: &Path) {
    let module = fs::read(module).unwrap();
    let layer = LayerBuilder::default().file("fn.wasm", 0o644, &module);
    let layer = layer.and_then(LayerBuilder::finish).unwrap();
    let config = serde_json::json!({
        "os": "",
        "architecture": "wasm",
        "rootfs": { "type": "layers", "diff_ids": [Digest::of(&layer).to_string()] },
    });
    let config = config.to_string();
    let mut layout = ImageLayout::default();
    for image in IMAGES {
        let manifest = ImageManifest {
            schema_version: 2,
            media_type: Some(OCI_MANIFEST.to_owned()),
            config: layout.add_blob(OCI_CONFIG, config.clone().into()),
            layers: vec![layout.add_blob(OCI_LAYER, layer.clone())],
        };
        let manifest = serde_json::to_vec(&manifest).unwrap();
        let mut root = layout.add_blob(OCI_MANIFEST, manifest.into());
        root.platform = Some("js/wasm".parse().unwrap());
        layout.add_root(root, image);
    }
    write_archive(&layout, &mut File::create(archive).unwrap()).unwrap();
}

#[test]
fn the_golden_case_of_kpt_passes() {
    let Some(cases) = shared::directory(TEST) else {
        return;
    };
    let case = cases.join("kpt/fn-render/basicpipeline-wasm");
    if !case.is_dir() {
        return skip(TEST, "the case is not recorded");
    }
    let Some(module) = build() else {
        return skip(TEST, "there is no go");
    };
    let env = TestEnvironment::new();
    let path = |name: &str| env.work().join(name);
    for (name, content) in files(&case) {
        match name.strip_prefix(".expected/") {
            Some(name) => env.write(name, &content),
            None => {
                env.write(&format!("rendered/{name}"), &content);
                env.write(&format!("wanted/{name}"), &content);
            }
        }
    }
    write_images(&module, &path("functions.tar"));
    let imported = env.kiln(&["image", "import", "functions.tar"], "");
    assert_eq!(imported.code, Some(0), "{imported:?}");
    let flags = ["--compat=kpt", "--allow-alpha-wasm"];
    let outcome = env.kiln(&[&["fn", "render", "rendered"], &flags[..]].concat(), "");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let applied = env.shell(&path("wanted"), "git apply ../diff.patch", &[]);
    assert_eq!(applied.code, Some(0), "{applied:?}");
    assert_eq!(files(&path("rendered")), files(&path("wanted")));
}
