//! Precedence of settings, and what changes a version.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::config::cache_config;
use crate::config::current_templates::TemplateSource;

const PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";

fn specs(source: TemplateSource) -> PoolSpecs {
    let defaults = PoolSettings {
        ttl: Duration::from_secs(1800),
        max_waitlist: NonZeroUsize::new(2).unwrap(),
        max_pods: NonZeroUsize::MIN,
        start_timeout: Duration::from_secs(60),
    };
    let settings = PodSettings {
        namespace: "fns".to_owned(),
        wrapper_image: "wrapper".to_owned(),
        max_message_size: 1000,
    };
    PoolSpecs::new(
        defaults,
        settings,
        PREFIX.to_owned(),
        Some("auth".to_owned()),
        CurrentTemplates::new(source),
    )
}

fn image(name: &str) -> ImageKey {
    ImageKey::new(name)
}

fn config(name: &str, spec: Value) -> FunctionConfig {
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

#[test]
fn objects_override_files_and_files_override_flags() {
    let mut specs = specs(TemplateSource::Objects);
    let key = image(&format!("{PREFIX}/set-labels:v0.1"));
    assert_eq!(specs.spec(&key).settings.ttl.as_secs(), 1800);
    specs.set_cache(
        &cache_config::parse(
            "- {name: 'set-labels:v0.1', timeToLive: 1m, maxParallelPodsPerFunction: 3}",
        )
        .unwrap(),
    );
    let changed = specs.refresh(std::slice::from_ref(&key));
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].1.settings.ttl.as_secs(), 60);
    assert_eq!(changed[0].1.settings.max_pods.get(), 3);
    specs.set_config(config(
        "c",
        json!({"image": "set-labels", "prefixes": [""], "podExecutor": {"tags": ["~0.1"], "timeToLive": "2m"}}),
    ));
    let changed = specs.refresh(std::slice::from_ref(&key));
    assert_eq!(changed[0].1.settings.ttl.as_secs(), 120);
    assert_eq!(changed[0].1.settings.max_pods.get(), 1);
    specs.remove_config("c");
    assert_eq!(
        specs.refresh(std::slice::from_ref(&key))[0]
            .1
            .settings
            .ttl
            .as_secs(),
        60
    );
    assert!(specs.refresh(&[key]).is_empty());
}

#[test]
fn every_change_of_pods_changes_their_version() {
    let mut specs = specs(TemplateSource::Objects);
    let key = image("example.org/fn:v1");
    let version = |specs: &mut PoolSpecs| specs.spec(&image("example.org/fn:v1")).version.clone();
    let first = version(&mut specs);
    assert!(
        !specs
            .set_cache_and_refresh(
                "- {name: 'example.org/fn:v1', resources: {limits: {cpu: 1}}}",
                &key
            )
            .is_empty()
    );
    let with_limits = version(&mut specs);
    assert!(!with_limits.is_current(&first));
    assert!(specs.set_digest(&key, "sha256:1"));
    assert!(!specs.set_digest(&key, "sha256:1"));
    specs.refresh(std::slice::from_ref(&key));
    assert_eq!(version(&mut specs).digest.as_deref(), Some("sha256:1"));
    let template = json!({"metadata": {"resourceVersion": "9"}, "template": {"spec": {"containers": [{"name": "function"}]}}});
    specs
        .templates
        .set_pod_template(Some(serde_json::from_value(template).unwrap()))
        .unwrap();
    specs.refresh(std::slice::from_ref(&key));
    assert!(version(&mut specs).template.starts_with("9/"));
}

#[test]
fn only_private_images_get_the_pull_secret() {
    let specs = specs(TemplateSource::Objects);
    let secret = |image: &str| specs.effective_template(image).unwrap().pull_secret;
    assert_eq!(secret("gcr.io/kpt-fn/a:v1"), None);
    assert_eq!(secret(&format!("{PREFIX}/a:v1")), None);
    assert_eq!(
        secret(&format!("{PREFIX}-other/a:v1")).as_deref(),
        Some("auth")
    );
    assert_eq!(secret("example.org/a:v1").as_deref(), Some("auth"));
}

#[test]
fn an_invalid_template_leaves_the_previous_one_in_force() {
    let source = TemplateSource::ConfigMap {
        name: "t".to_owned(),
        namespace: "own".to_owned(),
    };
    let mut specs = specs(source);
    let missing = specs.effective_template("a").unwrap_err();
    assert_eq!(
        missing,
        "ConfigMap \"t\" does not exist in namespace \"own\""
    );
    let map = |pod: &str| -> crate::kube::views::ObjectView {
        let object = json!({"metadata": {"resourceVersion": "1"}, "data": {"template": pod, "serviceTemplate": "{}"}});
        serde_json::from_value(object).unwrap()
    };
    assert!(
        specs
            .templates
            .set_config_map(Some(&map("spec: {}")))
            .is_err()
    );
    assert!(
        specs
            .effective_template("a")
            .unwrap_err()
            .contains("no container named")
    );
    specs
        .templates
        .set_config_map(Some(&map("spec: {containers: [{name: function}]}")))
        .unwrap();
    assert!(specs.effective_template("a").is_ok());
    assert!(specs.templates.set_config_map(None).is_err());
    assert_eq!(
        specs.effective_template("a").unwrap().templates.version(),
        "1"
    );
}

#[test]
fn all_listed_images_are_warmed_up() {
    let mut specs = specs(TemplateSource::Objects);
    specs.set_cache(&cache_config::parse("a:v1: 1m\nexample.org/b:v2: 1m\n").unwrap());
    specs.set_config(config(
        "c",
        json!({"image": "a", "podExecutor": {"tags": ["v1", "v3"]}}),
    ));
    specs.set_config(config(
        "d",
        json!({"image": "d", "prefixes": ["", "x.io/y/"], "podExecutor": {"tags": ["v1"]}}),
    ));
    specs.set_config(config("e", json!({"image": "e", "podExecutor": {}})));
    specs.set_config(config(
        "f",
        json!({"image": "f", "prefixes": ["x.io/y/", ""], "podExecutor": {"tags": ["v1", "v2"]}}),
    ));
    // An invalid FunctionConfig is not in force.
    let wrong = json!({"image": "g", "podExecutor": {"tags": ["v1"], "timeToLive": "soon"}});
    specs.set_config(config("g", wrong));
    // A range is not the tag of an image.
    for (name, tag) in [
        ("h", "~0.1"),
        ("i", "~0.1 != v0.1.4"),
        ("j", "*"),
        ("k", ">= 1"),
    ] {
        let range = json!({"image": name, "podExecutor": {"tags": [tag, "v1"]}});
        specs.set_config(config(name, range));
    }
    let local = format!("{PREFIX}/l:v1");
    specs.set_config(config(
        "l",
        json!({"image": "l", "podExecutor": {"tags": ["v1"]}}),
    ));
    let images = specs.warm_up_images(|image| image == local);
    let images: Vec<&str> = images.keys().map(ImageKey::as_str).collect();
    let default = |name: &str| format!("{PREFIX}/{name}");
    assert_eq!(
        images,
        [
            "example.org/b:v2",
            &default("a:v1"),
            &default("d:v1"),
            "x.io/y/f:v1"
        ]
    );
}

impl PoolSpecs {
    fn set_cache_and_refresh(
        &mut self,
        text: &str,
        image: &ImageKey,
    ) -> Vec<(ImageKey, Arc<PoolSpec>)> {
        self.spec(image);
        self.set_cache(&cache_config::parse(text).unwrap());
        self.refresh(std::slice::from_ref(image))
    }
}
