//! Push, pull and denied requests with a real registry.

use kiln_oci::{
    Descriptor, DockerConfig, ErrorClass, ImageLayout, ImageReference, ImageSpec, Keychain,
    LayerBuilder, PlainHttp, Platform, RegistryClient, RegistryError, RegistryOptions, RunConfig,
    add_image,
};

use crate::program::Program;

fn platform() -> Platform {
    Platform::linux("amd64")
}

/// An image with a layer of several megabytes.
fn image() -> (ImageLayout, Descriptor) {
    let content: Vec<u8> = (0..3_000_000_u32)
        .map(|number| number.to_le_bytes()[1])
        .collect();
    let layer = LayerBuilder::default()
        .file("/data", 0o644, &content)
        .unwrap();
    let spec = ImageSpec {
        platform: platform(),
        run: RunConfig {
            entrypoint: vec!["/data".to_owned()],
            ..RunConfig::default()
        },
        layers: vec![layer.finish().unwrap()],
    };
    let mut layout = ImageLayout::default();
    let root = add_image(&mut layout, spec).unwrap();
    (layout, root)
}

fn keychain(program: &Program, password: &str) -> Keychain {
    let text = format!(
        r#"{{"auths":{{"https://{}":{{"username":"me","password":"{password}"}}}}}}"#,
        program.host
    );
    Keychain::fixed(DockerConfig::parse(text.as_bytes()).unwrap())
}

fn reference(program: &Program, rest: &str) -> ImageReference {
    format!("{}/{rest}", program.host).parse().unwrap()
}

/// Pushes an image and pulls it again.
async fn round_trip(registry: &RegistryClient, name: &ImageReference) {
    let (layout, root) = image();
    let digest = registry.push(name, &layout, &root).await.unwrap();
    registry.push(name, &layout, &root).await.unwrap();
    let by_digest = name.with_digest(digest.clone());
    for name in [name, &by_digest] {
        let image = registry.image(name, &platform()).await.unwrap();
        assert_eq!(image.digest, digest);
        assert_eq!(image.config.command_line(), ["/data"]);
        let layer = registry.blob(name, &image.layers[0]).await.unwrap();
        assert_eq!(layer, layout.blob(&image.layers[0].digest).unwrap());
    }
}

#[tokio::test]
async fn plain_http_on_this_machine() {
    let Some(program) = Program::start(false) else {
        return;
    };
    let registry = RegistryClient::new(RegistryOptions::default());
    let name = reference(&program, "some/image:v1");
    round_trip(&registry, &name).await;
    assert_eq!(registry.tags(&name).await.unwrap(), ["v1"]);
    let missing = reference(&program, "some/image:v2");
    let error = registry.image(&missing, &platform()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound, "{error}");
    let mut never = RegistryOptions::default();
    never
        .plain_http
        .insert(program.host.clone(), PlainHttp::Never);
    let error = RegistryClient::new(never)
        .image(&name, &platform())
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Tls { .. }), "{error}");
}

#[tokio::test]
async fn password_and_custom_ca() {
    let Some(program) = Program::start(true) else {
        return;
    };
    let options = |password| RegistryOptions {
        keychain: keychain(&program, password),
        ca_directory: Some(program.directory.path().to_owned()),
        ..RegistryOptions::default()
    };
    let name = reference(&program, "private/image:v1");
    round_trip(&RegistryClient::new(options("pass")), &name).await;

    let error = RegistryClient::new(options("wrong"))
        .image(&name, &platform())
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Denied { .. }), "{error}");
    let anonymous = RegistryOptions {
        keychain: Keychain::anonymous(),
        ..options("pass")
    };
    let error = RegistryClient::new(anonymous)
        .image(&name, &platform())
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Denied { .. }), "{error}");
    let without_ca = RegistryOptions {
        ca_directory: None,
        ..options("pass")
    };
    let error = RegistryClient::new(without_ca)
        .image(&name, &platform())
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Tls { .. }), "{error}");
}
