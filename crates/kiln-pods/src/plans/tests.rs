//! What goes before what, and what changes a version.

use std::num::NonZeroUsize;
use std::time::Duration;

use serde_json::{Value, json};

use super::*;
use crate::cache_config;

const PREFIX: &str = "ghcr.io/kptdev/krm-functions-catalog";

fn plans(source: TemplateSource) -> Plans {
    let defaults = Settings {
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
    Plans::new(
        defaults,
        settings,
        PREFIX.to_owned(),
        Some("auth".to_owned()),
        TemplateBook::new(source),
    )
}

fn image(name: &str) -> ImageKey {
    ImageKey::new(name)
}

fn config(name: &str, spec: Value) -> FunctionConfig {
    serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec})).unwrap()
}

#[test]
fn objects_go_before_files_and_files_before_flags() {
    let mut plans = plans(TemplateSource::Objects);
    let key = image(&format!("{PREFIX}/set-labels:v0.1"));
    assert_eq!(plans.plan(&key).settings.ttl.as_secs(), 1800);
    plans.set_cache(
        &cache_config::parse(
            "- {name: 'set-labels:v0.1', timeToLive: 1m, maxParallelPodsPerFunction: 3}",
        )
        .unwrap(),
    );
    let changed = plans.renew(std::slice::from_ref(&key));
    assert_eq!(changed.len(), 1);
    assert_eq!(changed[0].1.settings.ttl.as_secs(), 60);
    assert_eq!(changed[0].1.settings.max_pods.get(), 3);
    plans.set_config(config(
        "c",
        json!({"image": "set-labels", "prefixes": [""], "podExecutor": {"timeToLive": "2m"}}),
    ));
    let changed = plans.renew(std::slice::from_ref(&key));
    assert_eq!(changed[0].1.settings.ttl.as_secs(), 120);
    assert_eq!(changed[0].1.settings.max_pods.get(), 1);
    plans.remove_config("c");
    assert_eq!(
        plans.renew(std::slice::from_ref(&key))[0]
            .1
            .settings
            .ttl
            .as_secs(),
        60
    );
    assert!(plans.renew(&[key]).is_empty());
}

#[test]
fn what_changes_pods_changes_their_version() {
    let mut plans = plans(TemplateSource::Objects);
    let key = image("example.org/fn:v1");
    let version = |plans: &mut Plans| plans.plan(&image("example.org/fn:v1")).version.clone();
    let first = version(&mut plans);
    assert!(
        !plans
            .set_cache_and_renew(
                "- {name: 'example.org/fn:v1', resources: {limits: {cpu: 1}}}",
                &key
            )
            .is_empty()
    );
    let with_limits = version(&mut plans);
    assert!(!with_limits.is_current(&first));
    assert!(plans.set_digest(&key, "sha256:1"));
    assert!(!plans.set_digest(&key, "sha256:1"));
    plans.renew(std::slice::from_ref(&key));
    assert_eq!(version(&mut plans).digest.as_deref(), Some("sha256:1"));
    let template = json!({"metadata": {"resourceVersion": "9"}, "template": {"spec": {"containers": [{"name": "function"}]}}});
    plans
        .templates
        .set_pod_template(Some(serde_json::from_value(template).unwrap()))
        .unwrap();
    plans.renew(std::slice::from_ref(&key));
    assert!(version(&mut plans).template.starts_with("9/"));
}

#[test]
fn only_images_that_are_not_public_need_the_secret() {
    let plans = plans(TemplateSource::Objects);
    let secret = |image: &str| plans.recipe(image).unwrap().pull_secret;
    assert_eq!(secret("gcr.io/kpt-fn/a:v1"), None);
    assert_eq!(secret(&format!("{PREFIX}/a:v1")), None);
    assert_eq!(
        secret(&format!("{PREFIX}-other/a:v1")).as_deref(),
        Some("auth")
    );
    assert_eq!(secret("example.org/a:v1").as_deref(), Some("auth"));
}

#[test]
fn templates_that_cannot_be_used_leave_those_before_in_force() {
    let source = TemplateSource::ConfigMap {
        name: "t".to_owned(),
        namespace: "own".to_owned(),
    };
    let mut plans = plans(source);
    let missing = plans.recipe("a").unwrap_err();
    assert_eq!(missing, "ConfigMap \"t\" is not there in namespace \"own\"");
    let map = |pod: &str| -> crate::views::ObjectView {
        let object = json!({"metadata": {"resourceVersion": "1"}, "data": {"template": pod, "serviceTemplate": "{}"}});
        serde_json::from_value(object).unwrap()
    };
    assert!(
        plans
            .templates
            .set_config_map(Some(&map("spec: {}")))
            .is_err()
    );
    assert!(
        plans
            .recipe("a")
            .unwrap_err()
            .contains("no container named")
    );
    plans
        .templates
        .set_config_map(Some(&map("spec: {containers: [{name: function}]}")))
        .unwrap();
    assert!(plans.recipe("a").is_ok());
    assert!(plans.templates.set_config_map(None).is_err());
    assert_eq!(plans.recipe("a").unwrap().templates.version(), "1");
}

#[test]
fn everything_that_is_listed_is_warmed_up() {
    let mut plans = plans(TemplateSource::Objects);
    plans.set_cache(&cache_config::parse("a:v1: 1m\nexample.org/b:v2: 1m\n").unwrap());
    plans.set_config(config(
        "c",
        json!({"image": "a", "podExecutor": {"tags": ["v1", "v3"]}}),
    ));
    plans.set_config(config(
        "d",
        json!({"image": "d", "prefixes": ["", "x.io/y/"], "podExecutor": {"tags": ["v1"]}}),
    ));
    plans.set_config(config("e", json!({"image": "e", "podExecutor": {}})));
    plans.set_config(config(
        "f",
        json!({"image": "f", "prefixes": ["x.io/y/", ""], "podExecutor": {"tags": ["v1", "v2"]}}),
    ));
    // One that is wrong is not in force.
    let wrong = json!({"image": "g", "podExecutor": {"tags": ["v1"], "timeToLive": "soon"}});
    plans.set_config(config("g", wrong));
    let images = plans.listed();
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

impl Plans {
    fn set_cache_and_renew(&mut self, text: &str, image: &ImageKey) -> Vec<(ImageKey, Arc<Plan>)> {
        self.plan(image);
        self.set_cache(&cache_config::parse(text).unwrap());
        self.renew(std::slice::from_ref(image))
    }
}
