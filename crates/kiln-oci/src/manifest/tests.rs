//! The type that a manifest is parsed as.

use bytes::Bytes;

use super::{Manifest, ManifestError, StoredManifest};
use crate::media_type::{DOCKER_LIST, DOCKER_MANIFEST, OCI_INDEX, OCI_MANIFEST};
use crate::{ImageConfig, Platform, select_platform};

const DIGEST: &str = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn parse(text: &str, content_type: Option<&str>) -> Result<StoredManifest, ManifestError> {
    StoredManifest::parse(Bytes::from(text.to_owned()), content_type)
}

fn image(media_type: &str) -> String {
    let descriptor = format!(r#"{{"mediaType":"t","digest":"{DIGEST}","size":0}}"#);
    format!(
        r#"{{"schemaVersion":2,{media_type}"config":{descriptor},"layers":[{descriptor}],"annotations":null}}"#
    )
}

#[test]
fn the_own_media_type_comes_first() {
    let stored = parse(&image(""), None).unwrap();
    assert_eq!(stored.descriptor.media_type, OCI_MANIFEST);
    let stored = parse(
        &image(""),
        Some("application/vnd.docker.distribution.manifest.v2+json; x=y"),
    );
    assert_eq!(stored.unwrap().descriptor.media_type, DOCKER_MANIFEST);
    let own = format!(r#""mediaType":"{OCI_MANIFEST}","#);
    let stored = parse(&image(&own), Some(DOCKER_LIST)).unwrap();
    assert_eq!(stored.descriptor.media_type, OCI_MANIFEST);
    let stored = parse(r#"{"schemaVersion":2,"manifests":[]}"#, Some("text/plain")).unwrap();
    assert_eq!(stored.descriptor.media_type, OCI_INDEX);
}

#[test]
fn other_documents_are_refused() {
    let error = parse(r#"{"schemaVersion":1,"name":"x"}"#, None).unwrap_err();
    assert!(error.to_string().contains("schemaVersion 1"), "{error}");
    let error = parse(r#"{"schemaVersion":2,"mediaType":"x/y"}"#, None).unwrap_err();
    assert!(error.to_string().contains("x/y"), "{error}");
    let wrong = [
        "",
        "[]",
        "<html>",
        r#"{"schemaVersion":2,"config":7}"#,
        r#"{"schemaVersion":2,"manifests":{}}"#,
    ];
    for text in wrong {
        assert!(
            matches!(parse(text, None), Err(ManifestError::Json(_))),
            "{text}"
        );
    }
}

#[test]
fn ambiguous_manifests_are_refused() {
    let descriptor = format!(r#"{{"mediaType":"t","digest":"{DIGEST}","size":0}}"#);
    for other in [
        format!(r#""config":{descriptor},"layers":[]"#),
        r#""layers":[]"#.to_owned(),
        r#""fsLayers":[]"#.to_owned(),
    ] {
        for own in ["", OCI_INDEX, OCI_MANIFEST] {
            let text = format!(
                r#"{{"schemaVersion":2,"mediaType":"{own}","manifests":[{descriptor}],{other}}}"#
            )
            .replace(r#""mediaType":"","#, "");
            let parsed = parse(&text, None);
            assert!(matches!(parsed, Err(ManifestError::Ambiguous)), "{text}");
        }
    }
}

#[test]
fn schema_version_1_is_refused() {
    let text =
        r#"{"schemaVersion":1,"name":"x","tag":"y","fsLayers":[],"history":[],"signatures":[]}"#;
    for header in [
        None,
        Some(DOCKER_MANIFEST),
        Some("application/vnd.docker.distribution.manifest.v1+prettyjws"),
    ] {
        let error = parse(text, header).unwrap_err();
        assert!(error.to_string().contains("schemaVersion 1"), "{error}");
    }
}

#[test]
fn missing_fields_are_empty() {
    let descriptor = format!(r#"{{"mediaType":"t","digest":"{DIGEST}","size":0}}"#);
    let image = format!(r#"{{"schemaVersion":2,"config":{descriptor},"layers":null}}"#);
    assert!(parse(&image, None).is_ok());
    let empty = r#"{"schemaVersion":2,"manifests":null}"#;
    assert!(parse(empty, Some(OCI_INDEX)).is_ok());
}

#[test]
fn messages_are_shortened() {
    let long = "x".repeat(1 << 20);
    for text in [
        format!(r#"{{"schemaVersion":2,"mediaType":"{long}"}}"#),
        format!(r#"{{"schemaVersion":2,"config":"{long}","layers":[]}}"#),
        format!(r#"{{"schemaVersion":2,"manifests":[{{"digest":"{long}"}}]}}"#),
    ] {
        let error = parse(&text, None).unwrap_err();
        let source = std::error::Error::source(&error);
        let message = format!("{error} {source:?}");
        assert!(message.len() < 2000, "{}", message.len());
    }
    let all: Vec<String> = (0..1000).map(|number| format!("linux/{number}")).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    let message = crate::platform::available_platforms(&index(&all));
    assert!(message.ends_with("linux/19 and 980 more"), "{message}");
    let few = ["unknown/unknown", "linux/arm64"];
    assert_eq!(
        crate::platform::available_platforms(&index(&few)),
        "linux/arm64"
    );
}

fn index(platforms: &[&str]) -> super::ImageIndex {
    let entry = |platform: &&str| {
        if *platform == "none" {
            return format!(
                r#"{{"mediaType":"{OCI_MANIFEST}","digest":"{DIGEST}","size":1,"platform":null,"annotations":{{"n":"none"}}}}"#
            );
        }
        let mut parts = platform.split('/');
        let mut part = || parts.next().unwrap_or("");
        let (os, architecture, variant) = (part(), part(), part());
        format!(
            r#"{{"mediaType":"{OCI_MANIFEST}","digest":"{DIGEST}","size":1,"platform":{{"os":"{os}","architecture":"{architecture}","variant":"{variant}"}},"annotations":{{"n":"{platform}"}}}}"#
        )
    };
    let entries: Vec<String> = platforms.iter().map(entry).collect();
    let text = format!(
        r#"{{"schemaVersion":2,"manifests":[{}]}}"#,
        entries.join(",")
    );
    match parse(&text, None).unwrap().manifest {
        Manifest::Index(index) => index,
        Manifest::Image(_) => panic!("an index"),
    }
}

#[track_caller]
fn chosen(platforms: &[&str], wanted: &str, expected: Option<&str>) {
    let index = index(platforms);
    let wanted: Platform = wanted.parse().unwrap();
    let found = select_platform(&index, &wanted).map(|entry| entry.annotations["n"].as_str());
    assert_eq!(found, expected);
}

#[test]
fn the_platform_is_chosen() {
    let all = [
        "unknown/unknown",
        "linux/arm/v6",
        "linux/arm/v7",
        "linux/arm64",
        "linux/amd64",
        "windows/amd64",
    ];
    chosen(&all, "linux/amd64", Some("linux/amd64"));
    chosen(&all, "linux/arm/v7", Some("linux/arm/v7"));
    chosen(&all, "linux/arm64/v8", Some("linux/arm64"));
    chosen(&all, "linux/arm", Some("linux/arm/v6"));
    chosen(&all, "linux/s390x", None);
    chosen(&all, "linux/arm/v5", None);
    chosen(&["linux/arm64/v8"], "linux/arm64", Some("linux/arm64/v8"));
    // Entries without a platform.
    chosen(&["none", "linux/arm64"], "linux/amd64", Some("none"));
    chosen(&["none", "linux/amd64"], "linux/amd64", Some("linux/amd64"));
    chosen(&["none", "linux/amd64"], "linux/arm64", None);
    chosen(&["unknown/unknown"], "linux/amd64", None);
    assert!("linux".parse::<Platform>().is_err());
}

#[test]
fn entrypoint_and_cmd_make_the_command_line() {
    let line = |config: &str| {
        let text = format!(r#"{{"os":"linux","architecture":"amd64","config":{config}}}"#);
        ImageConfig::parse(text.as_bytes()).unwrap().command_line()
    };
    assert_eq!(
        line(r#"{"Entrypoint":["/a"],"Cmd":["b","c"]}"#),
        ["/a", "b", "c"]
    );
    assert_eq!(line(r#"{"Entrypoint":null,"Cmd":["b"]}"#), ["b"]);
    assert_eq!(line(r#"{"Entrypoint":["/a"]}"#), ["/a"]);
    assert!(line("{}").is_empty());
    let config = ImageConfig::parse(
        br#"{"config":{"Env":["A=1"],"User":"65534:0","WorkingDir":"/w","ExposedPorts":{"1/tcp":{}}}}"#,
    );
    let config = config.unwrap().config;
    assert_eq!(
        (config.user.as_str(), config.working_dir.as_str()),
        ("65534:0", "/w")
    );
    assert_eq!(config.env, ["A=1"]);
    assert!(ImageConfig::parse(br#"{"config":null}"#).is_ok());
    assert!(ImageConfig::parse(b"[").is_err());
}
