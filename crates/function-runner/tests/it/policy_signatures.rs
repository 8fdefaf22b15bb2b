//! A policy of the runner that requires signatures: a pod gets the digest that was verified.

use function_runner::prepare;
use kiln_oci::{ImageLayout, ImageSpec, LayerBuilder, Platform, RunConfig, add_image};
use tonic::Code;

use crate::pods::{call, config, start, unobserved};
use crate::program::RunnerFiles;

#[allow(dead_code, reason = "other tests use the rest")]
#[path = "../../../kiln-store/tests/it/sign.rs"]
mod sign;

use crate::registry::TestRegistry;
use sign::{Signer, classic_files};

fn push(registry: &TestRegistry, content: &[u8]) -> String {
    let layer = LayerBuilder::default().file("file", 0o644, content);
    let layer = layer.and_then(LayerBuilder::finish).expect("a layer");
    let mut layout = ImageLayout::default();
    let spec = ImageSpec {
        platform: Platform::this_machine(),
        run: RunConfig::default(),
        layers: vec![layer],
    };
    let image = add_image(&mut layout, spec).expect("an image");
    registry.add("team/fn:v1", &layout, &image);
    image.digest.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_run_signed_images_by_digest() {
    let files = RunnerFiles::new();
    let registry = TestRegistry::start();
    let signer = Signer::new();
    std::fs::write(files.path("team.pub"), signer.public_key()).expect("a key");
    let policy = format!(
        "version: 1\ndefault: deny\nrules:\n- match: {}/\n  require:\n  - signature: {{key: {}}}\n",
        registry.host,
        files.path("team.pub").display()
    );
    std::fs::write(files.path("policy.yaml"), policy).expect("a policy");
    let store = format!("--image-store={}", files.path("store").display());
    let policy = format!("--policy={}", files.path("policy.yaml").display());
    let flags = ["--disable-runtimes=exec,image,wasm", &store, &policy];
    let (config, environment) = config(&files, &flags);
    let runner = prepare(&config, &environment, unobserved(), start).await;
    let runner = runner.expect("a runner");
    let address = runner.address().to_string();
    let stop = runner.stop();
    let running = tokio::spawn(runner.run());

    let digest = push(&registry, b"one");
    let name = format!("{}/team/fn", registry.host);
    let image = format!("{name}:v1");
    let denied = call(&address, &image).await.expect_err("not signed");
    assert_eq!(denied.code(), Code::PermissionDenied, "{denied}");
    assert!(denied.message().contains("has no signatures"), "{denied}");
    registry.put(classic_files(
        "team/fn",
        &digest,
        &[signer.classic(&name, &digest)],
    ));
    for _ in 0..2 {
        let answer = call(&address, &image).await.expect("an answer");
        assert_eq!(answer.resource_list, format!("{image}@{digest}"));
    }
    // The tag moves. By its digest, the verified image still runs, and the other one does not.
    let other = push(&registry, b"two");
    let by_digest = format!("{name}@{digest}");
    let answer = call(&address, &by_digest).await.expect("an answer");
    assert_eq!(answer.resource_list, by_digest);
    let denied = call(&address, &format!("{name}@{other}")).await;
    assert_eq!(
        denied.expect_err("not signed").code(),
        Code::PermissionDenied
    );
    // A registry that does not answer is not a refusal.
    registry.go_away();
    let away = call(&address, &format!("{name}:v2"))
        .await
        .expect_err("unknown");
    assert_eq!(away.code(), Code::Unavailable, "{away}");
    stop.drain();
    running.await.expect("an end");
}
