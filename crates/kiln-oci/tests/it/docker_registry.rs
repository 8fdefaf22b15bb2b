//! Push, read, and be refused by a real registry.

use kiln_oci::{
    Descriptor, DockerConfig, ErrorClass, ImageSpec, Keychain, LayerBuilder, Layout, PlainHttp,
    Platform, Reference, Registry, RegistryError, RegistryOptions, RunConfig, add_image,
};

use crate::program::Program;

fn platform() -> Platform {
    Platform::linux("amd64")
}

/// An image with a layer of some size.
fn image() -> (Layout, Descriptor) {
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
    let mut layout = Layout::default();
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

fn reference(program: &Program, rest: &str) -> Reference {
    format!("{}/{rest}", program.host).parse().unwrap()
}

/// Pushes and reads everything back.
async fn round_trip(registry: &Registry, name: &Reference) {
    let (layout, root) = image();
    let digest = registry.push(name, &layout, &root).await.unwrap();
    registry.push(name, &layout, &root).await.unwrap();
    let by_digest = name.with_digest(digest.clone());
    for name in [name, &by_digest] {
        let image = registry.image(name, &platform()).await.unwrap();
        assert_eq!(image.digest, digest);
        assert_eq!(image.config.command_line(), ["/data"]);
        let mut copy = Vec::new();
        registry
            .copy_blob(name, &image.layers[0], &mut copy)
            .await
            .unwrap();
        assert_eq!(copy, layout.blob(&image.layers[0].digest).unwrap());
    }
}

#[tokio::test]
async fn in_clear_on_this_machine() {
    let Some(program) = Program::start(false) else {
        return;
    };
    let registry = Registry::new(RegistryOptions::default());
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
    let error = Registry::new(never)
        .image(&name, &platform())
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Tls { .. }), "{error}");
}

#[tokio::test]
async fn with_password_and_an_authority_of_its_own() {
    let Some(program) = Program::start(true) else {
        return;
    };
    let options = |password| RegistryOptions {
        keychain: keychain(&program, password),
        authority: Some(program.directory.path().to_owned()),
        ..RegistryOptions::default()
    };
    let name = reference(&program, "private/image:v1");
    round_trip(&Registry::new(options("pass")), &name).await;

    let error = Registry::new(options("wrong"))
        .image(&name, &platform())
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Denied { .. }), "{error}");
    let anonymous = RegistryOptions {
        keychain: Keychain::anonymous(),
        ..options("pass")
    };
    let error = Registry::new(anonymous)
        .image(&name, &platform())
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Denied { .. }), "{error}");
    let trusting = RegistryOptions {
        authority: None,
        ..options("pass")
    };
    let error = Registry::new(trusting)
        .image(&name, &platform())
        .await
        .unwrap_err();
    assert!(matches!(error, RegistryError::Tls { .. }), "{error}");
}
