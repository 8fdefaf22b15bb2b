//! Which images a FunctionConfig matches, and what is written back.

use super::*;

fn config(spec: Value) -> FunctionConfig {
    let object = json!({
        "apiVersion": "config.porch.kpt.dev/v1alpha1",
        "kind": "FunctionConfig",
        "metadata": {"name": "set-labels", "generation": 3, "resourceVersion": "77", "uid": "u"},
        "spec": spec,
    });
    serde_json::from_value(object).unwrap()
}

/// From Porch's own deployment.
fn of_porch() -> FunctionConfig {
    config(json!({
        "image": "set-labels",
        "prefixes": ["", "ghcr.io/kptdev/krm-functions-catalog"],
        "podExecutor": {"tags": ["v0.2.2"], "timeToLive": "30m"},
        "binaryExecutor": {"tags": ["v0.2.0"], "path": "set-labels"},
        "goExecutor": {"id": "set-labels", "tags": ["v0.1"]},
    }))
}

#[track_caller]
fn check(config: &FunctionConfig, image: &str, is_matched: bool) {
    assert_eq!(
        config.pod_executor_for(image, "example.org/fns").is_some(),
        is_matched,
        "{image}"
    );
}

#[test]
fn prefix_name_and_tag_are_matched() {
    let config = of_porch();
    check(&config, "example.org/fns/set-labels:v0.2.2", true);
    check(
        &config,
        "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.2",
        true,
    );
    check(
        &config,
        "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0",
        false,
    );
    check(&config, "gcr.io/kpt-fn/set-labels:v0.2.2", false);
    check(&config, "example.org/fns/set-labels-more:v0.2.2", false);
    check(&config, "example.org/fns/set-labels", false);
}

#[test]
fn no_prefixes_match_all_images_and_no_tags_none() {
    let all = super::tests::config(json!({"image": "a", "podExecutor": {"tags": ["*"]}}));
    check(&all, "example.org/fns/a:v1", true);
    check(&all, "somewhere.else/a", true);
    let digest = format!("somewhere.else/a@sha256:{}", "0".repeat(64));
    check(&all, &digest, true);
    for executor in [json!({}), json!({"tags": []})] {
        let nothing = super::tests::config(json!({"image": "a", "podExecutor": executor}));
        check(&nothing, "example.org/fns/a:v1", false);
        check(&nothing, "somewhere.else/a", false);
        assert_eq!(nothing.check(), Ok(()));
    }
    let without_pods = super::tests::config(json!({"image": "a", "goExecutor": {"tags": ["v1"]}}));
    check(&without_pods, "example.org/fns/a:v1", false);
}

#[test]
fn tags_are_ranges() {
    let config = config(json!({
        "image": "set-annotations",
        "prefixes": [""],
        "podExecutor": {"tags": ["~0.1"]},
        "binaryExecutor": {"tags": ["~0.1 != v0.1.4"], "path": "set-annotations"},
        "goExecutor": {"tags": [">= v0.1.5", "stable"]},
    }));
    let of = |tag: &str| {
        let image = format!("example.org/fns/set-annotations{tag}");
        let builtin = config.builtin_for(&image, "example.org/fns");
        (
            config.pod_executor_for(&image, "example.org/fns").is_some(),
            config.program_for(&image, "example.org/fns").is_some(),
            builtin.map(|(_, tag)| tag),
        )
    };
    assert_eq!(of(":v0.1.3"), (true, true, None));
    assert_eq!(of(":v0.1.4"), (true, false, None));
    assert_eq!(of(":v0.1.5"), (true, true, Some("v0.1.5".to_owned())));
    assert_eq!(of(":v0.1"), (true, true, None));
    assert_eq!(of(":v0.2.0"), (false, false, Some("v0.2.0".to_owned())));
    assert_eq!(of(":stable"), (false, false, Some("stable".to_owned())));
    assert_eq!(of(""), (false, false, None));
    let digest = format!(":v0.1.5@sha256:{}", "0".repeat(64));
    assert_eq!(of(&digest), (true, false, None));
}

#[test]
fn pod_settings_are_parsed() {
    let config = config(json!({
        "image": "a",
        "podExecutor": {
            "tags": ["v1"],
            "timeToLive": "1h30m0s",
            "maxParallelExecutions": 4,
            "preferredMaxQueueLength": 0,
            "templateOverrides": {"serviceAccountName": "s", "container": {"env": [{"name": "A", "value": "b"}]}},
        },
    }));
    let executor = config.pod_executor_for("x/a:v1", "").unwrap();
    let settings = executor.config("x/a:v1").unwrap();
    assert_eq!(settings.entry.time_to_live.unwrap().as_secs(), 5400);
    assert_eq!(settings.entry.max_parallel_pods, Some(4));
    assert_eq!(settings.entry.max_waitlist_length, None);
    assert_eq!(
        settings.overrides.service_account_name.as_deref(),
        Some("s")
    );
}

#[test]
fn the_finalizer_is_added_and_removed() {
    let mut config = of_porch();
    config.metadata.finalizers = vec!["other".to_owned()];
    let patch = config.with_finalizer().unwrap();
    assert_eq!(
        patch,
        json!({"metadata": {"finalizers": ["other", FINALIZER], "resourceVersion": "77"}})
    );
    assert_eq!(config.without_finalizer(), None);
    config.metadata.finalizers.push(FINALIZER.to_owned());
    assert_eq!(config.with_finalizer(), None);
    assert_eq!(config.without_finalizer(), None);
    config.metadata.deletion_timestamp = Some("2026-01-01T00:00:00Z".to_owned());
    let patch = config.without_finalizer().unwrap();
    assert_eq!(patch["metadata"]["finalizers"], json!(["other"]));
}

#[test]
fn the_status_is_written_once() {
    let mut config = of_porch();
    let patch = config.status_patch(None).unwrap();
    assert_eq!(patch["status"]["functionRunnerObservedGeneration"], 3);
    config.status.function_runner_observed_generation = 3;
    assert_eq!(config.status_patch(None), None);
    config.status.error = "old".to_owned();
    assert_eq!(
        config.status_patch(None).unwrap()["status"]["error"],
        Value::Null
    );
}

#[test]
fn the_status_contains_errors() {
    let config = config(json!({"image": "a", "podExecutor": {"timeToLive": "soon"}}));
    let patch = config.status_patch(None).unwrap();
    let error = patch["status"]["error"].as_str().unwrap();
    assert!(
        error.contains("spec.podExecutor.timeToLive: time: invalid duration"),
        "{error}"
    );
    assert_eq!(patch["status"]["functionRunnerObservedGeneration"], 0);
}
