//! Images for tests, built and pushed with kiln's own code.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Once, OnceLock};

use bytes::Bytes;
use kiln_oci::{
    DockerConfig, ImageLayout, ImageReference, ImageSpec, Keychain, LayerBuilder, Platform,
    RegistryClient, RegistryOptions, RunConfig, add_image,
};

use super::machine::Machine;

/// A function that follows the data of its configuration: `sleep` for so many seconds, `exit` with a code, `kill`
/// itself, answer with so many bytes more (`grow`). Otherwise it returns its input.
const SCRIPT: &str = r#"
list=/tmp/list.$$
cat >"$list"
value() {
	sed -n "s/^    $1: *[\"']\{0,1\}\([0-9.]*\).*/\1/p" "$list"
}
for name in sleep exit kill grow; do
	value=$(value "$name")
	[ -n "$value" ] || continue
	case $name in
	sleep) sleep "$value" ;;
	exit)
		echo "made to fail" >&2
		rm "$list"
		exit "$value"
		;;
	kill) kill -9 $$ ;;
	grow)
		cat "$list"
		echo "results:"
		echo "- message: $(head -c "$value" /dev/zero | tr '\0' x)"
		rm "$list"
		exit 0
		;;
	esac
done
cat "$list"
rm "$list"
"#;

/// The image of the wrapper, in the registry.
pub(crate) fn wrapper(machine: &Machine) -> &'static str {
    static IMAGE: OnceLock<String> = OnceLock::new();
    IMAGE.get_or_init(|| {
        let tools = "/home/nonroot/wrapper-server";
        let layer = base()
            .file(
                &format!("{tools}/wrapper-server"),
                0o755,
                &read(&build_wrapper()),
            )
            .and_then(|layer| layer.link(&format!("{tools}/grpc-health-probe"), "wrapper-server"))
            .and_then(LayerBuilder::finish)
            .expect("a layer");
        let image = format!("{}/kiln/wrapper-server:test", machine.registry);
        push(&image, layer, &["cp"], Keychain::anonymous(), None);
        image
    })
}

/// An image of the function above, in the registry.
pub(crate) fn function(machine: &Machine, name: &str) -> String {
    let image = format!("{}/kiln/{name}:v1", machine.registry);
    push_function(&image, Keychain::anonymous(), None);
    image
}

/// Another image of the same name: its tag has moved.
pub(crate) fn moved_function(machine: &Machine, name: &str) -> String {
    let image = format!("{}/kiln/{name}:v1", machine.registry);
    let script = format!("{SCRIPT}# moved\n");
    let layer = base().finish().expect("a layer");
    let entrypoint = ["/bin/sh", "-c", &script, &image];
    push(&image, layer, &entrypoint, Keychain::anonymous(), None);
    image
}

/// The same image by its name inside the cluster.
pub(crate) fn function_for_pods(machine: &Machine, name: &str) -> String {
    let image = function(machine, name);
    image.replacen(&machine.registry, &machine.inner_registry, 1)
}

/// The same in the registry that requires a password and a CA.
pub(crate) fn private_function(machine: &Machine, name: &str) -> String {
    let image = format!("{}/kiln/{name}:v1", machine.private_registry);
    let config = docker_config(machine, &machine.private_login);
    let config = DockerConfig::parse(config.as_bytes()).expect("a Docker config");
    let authority = tempfile::tempdir().expect("a directory");
    std::fs::copy(
        machine.registry_authority(),
        authority.path().join("ca.crt"),
    )
    .expect("a file");
    push_function(&image, Keychain::fixed(config), Some(authority.path()));
    image
}

/// An image without an entrypoint.
pub(crate) fn without_entrypoint(machine: &Machine, name: &str) -> String {
    let image = format!("{}/kiln/{name}:v1", machine.registry);
    let layer = base().finish().expect("a layer");
    push(&image, layer, &[], Keychain::anonymous(), None);
    image
}

/// The images of `cargo xtask images`, where nodes look for images without a registry name.
pub(crate) fn push_ours(machine: &Machine) {
    static DONE: Once = Once::new();
    DONE.call_once(|| {
        let temporary = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let output = Command::new(env!("CARGO"))
            .args(["run", "--quiet", "--locked", "--package=xtask"])
            .arg("--target-dir")
            .arg(temporary.parent().expect("a target directory"))
            .args(["--", "images", "--profile=dev"])
            .arg("--only=function-runner,wrapper-server")
            .arg(format!("--push={}/library", machine.registry))
            .env("CARGO_TARGET_DIR", temporary)
            // The build script of ring looks at it: with another value all that needs ring would be built again.
            .env_remove("CARGO_MANIFEST_DIR")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output();
        let output = output.expect("cargo");
        let printed = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}");
    });
}

/// A Docker config with a password for the private registry.
pub(crate) fn docker_config(machine: &Machine, login: &str) -> String {
    let (user, password) = login.split_once(':').expect("name and password");
    serde_json::json!({
        "auths": {&machine.private_registry: {"username": user, "password": password}},
    })
    .to_string()
}

fn push_function(image: &str, keychain: Keychain, authority: Option<&Path>) {
    let layer = base().finish().expect("a layer");
    push(
        image,
        layer,
        &["/bin/sh", "-c", SCRIPT, image],
        keychain,
        authority,
    );
}

/// Busybox under the names that are needed.
fn base() -> LayerBuilder {
    let which = Command::new("sh")
        .args(["-c", "command -v busybox"])
        .output();
    let path = String::from_utf8(which.expect("a shell").stdout).expect("a path");
    let mut layer = LayerBuilder::default()
        .file("/bin/busybox", 0o755, &read(Path::new(path.trim())))
        .and_then(|layer| layer.directory("/tmp", 0o1777))
        .expect("a layer");
    for name in [
        "sh", "cat", "cp", "sleep", "sed", "rm", "head", "tr", "kill",
    ] {
        layer = layer
            .link(&format!("/bin/{name}"), "busybox")
            .expect("a link");
    }
    layer
}

fn push(
    image: &str,
    layer: Bytes,
    entrypoint: &[&str],
    keychain: Keychain,
    authority: Option<&Path>,
) {
    let mut layout = ImageLayout::default();
    let spec = ImageSpec {
        platform: Platform::this_machine(),
        run: RunConfig {
            env: vec!["PATH=/bin".to_owned()],
            entrypoint: entrypoint.iter().map(ToString::to_string).collect(),
            ..RunConfig::default()
        },
        layers: vec![layer],
    };
    let root = add_image(&mut layout, spec).expect("an image");
    let registry = RegistryClient::new(RegistryOptions {
        keychain,
        ca_directory: authority.map(Path::to_owned),
        ..RegistryOptions::default()
    });
    let reference: ImageReference = image.parse().expect("a reference");
    // A separate thread, because callers are in a runtime already.
    std::thread::scope(|scope| {
        let work = || {
            let runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = { runtime }.enable_all().build();
            let push = registry.push(&reference, &layout, &root);
            let pushed = runtime.expect("a runtime").block_on(push);
            pushed.expect("a registry that takes it");
        };
        scope.spawn(work).join().expect("no panic");
    });
}

fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The wrapper as in releases, but with a faster build.
fn build_wrapper() -> PathBuf {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/build-wrapper");
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("static");
    let output = Command::new(script)
        .args(["--profile", "dev", "--target-dir"])
        .arg(&target)
        .output()
        .expect("a script");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    PathBuf::from(String::from_utf8_lossy(&output.stdout).trim())
}
