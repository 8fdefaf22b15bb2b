//! Both forms of the file, and errors.

use super::*;

#[test]
fn the_list_form_has_settings() {
    let entries = parse(
        "- name: gcr.io/kpt-fn/set-labels:v0.1\n  timeToLive: 1h30m\n  maxWaitlistLength: 3\n  \
         maxParallelPodsPerFunction: 2\n  resources:\n    requests: {cpu: 100m}\n    limits: {memory: 1Gi, cpu: 1}\n\
         - name: plain\n",
    )
    .unwrap();
    let [full, plain] = entries.as_slice() else {
        panic!("{entries:?}");
    };
    assert_eq!(full.image, "gcr.io/kpt-fn/set-labels:v0.1");
    assert_eq!(full.time_to_live, Some(Duration::from_secs(5400)));
    assert_eq!(full.max_waitlist_length, Some(3));
    assert_eq!(full.max_parallel_pods, Some(2));
    let resources = full.resources.clone().unwrap();
    assert_eq!(resources.requests.unwrap()["cpu"], "100m");
    assert_eq!(resources.limits.unwrap()["cpu"], 1);
    assert_eq!(plain.image, "plain");
    assert_eq!((plain.time_to_live, plain.max_parallel_pods), (None, None));
}

#[test]
fn the_mapping_form_has_durations() {
    let entries = parse("gcr.io/kpt-fn/a:v1: 30m\nb: 90s\n").unwrap();
    let mut durations: Vec<_> = entries
        .iter()
        .map(|entry| (entry.image.as_str(), entry.time_to_live.unwrap().as_secs()))
        .collect();
    durations.sort_unstable();
    assert_eq!(durations, [("b", 90), ("gcr.io/kpt-fn/a:v1", 1800)]);
}

#[test]
fn missing_and_non_positive_values_mean_the_flags() {
    assert_eq!(parse("").unwrap(), []);
    assert_eq!(parse("# nothing yet\n").unwrap(), []);
    assert_eq!(parse("[]").unwrap(), []);
    let entries =
        parse("- {name: a, maxWaitlistLength: 0, maxParallelPodsPerFunction: -1, timeToLive: ''}")
            .unwrap();
    assert_eq!(entries[0].max_waitlist_length, None);
    assert_eq!(entries[0].max_parallel_pods, None);
    assert_eq!(entries[0].time_to_live, None);
}

#[track_caller]
fn check_error(text: &str, expected: &str) {
    let error = parse(text).unwrap_err();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn errors_name_the_entry() {
    check_error("a: 30", "missing unit");
    check_error("a: [1]", "a: time: invalid duration");
    check_error(
        "- {name: a, timeToLive: -1h}",
        "entry 0 (a): \"-1h\" is not a positive duration",
    );
    check_error("- name: a\n- name: a\n", "\"a\" is listed more than once");
    check_error("- {name: a, timeToLife: 1h}", "unknown field `timeToLife`");
    check_error("- {timeToLive: 1h}", "missing field `name`");
    check_error("- 'a'", "entry 0: ");
    check_error("just text", "neither a list");
    check_error("a: [", "");
}
