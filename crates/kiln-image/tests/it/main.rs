//! Images that are not run: which errors let the next evaluator try, and which do not.
//!
//! Images that are run are tested from outside, with the command line.

mod busybox;
mod pulls;
#[cfg(target_os = "linux")]
mod refused;
#[cfg(target_os = "linux")]
#[path = "../../../kiln-sandbox/tests/it/refused_calls.rs"]
mod refused_calls;
#[expect(dead_code, reason = "the tests of the store use the rest")]
#[path = "../../../kiln-store/tests/it/registry.rs"]
mod registry;
mod runs;

use kiln_image::{ImageEvaluator, ImageOptions, LevelChoice};
use kiln_krm::Dialect;
use kiln_oci::PullPolicy;
use kiln_runtime::{
    Deadline, Evaluator, FindError, FunctionSpec, Input, Mount, RunContext, RunError,
};

/// The error of a run.
fn run(options: ImageOptions, image: &str) -> RunError {
    let evaluator = ImageEvaluator::new(options);
    let found = evaluator.find(&FunctionSpec::image(image)).ok().unwrap();
    let input = Input::new(Dialect::Current, &[], None);
    let ran = found.into_runner().run(&input, &RunContext::default());
    ran.map(|_| ()).unwrap_err()
}

/// The same with any level, and with namespaces only.
#[track_caller]
fn check_left_to_next(options: &ImageOptions, image: &str, text: &str) {
    let error = run(options.clone(), image);
    assert!(matches!(&error, RunError::NotFound(_)), "{error:?}");
    assert!(error.to_string().contains(text), "{error}");
    let options = ImageOptions {
        levels: LevelChoice::Namespaces,
        ..options.clone()
    };
    let error = run(options, image);
    assert!(matches!(&error, RunError::Unavailable(_)), "{error:?}");
}

#[test]
fn only_images_are_found() {
    let evaluator = ImageEvaluator::new(ImageOptions::default());
    let found = evaluator.find(&FunctionSpec::exec("cat"));
    assert!(matches!(found, Err(FindError::NotFound { .. })));
    assert!(evaluator.find(&FunctionSpec::image("any")).is_ok());
}

#[test]
fn an_engine_may_run_what_is_not_in_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let options = ImageOptions {
        store: Some(directory.path().join("store")),
        pull_policy: PullPolicy::Never,
        temporary: directory.path().to_owned(),
        ..ImageOptions::default()
    };
    check_left_to_next(&options, "localhost:1/missing:v1", "localhost:1/missing:v1");
    let nowhere = ImageOptions {
        store: None,
        ..options.clone()
    };
    check_left_to_next(
        &nowhere,
        "localhost:1/missing:v1",
        "no directory for the image store",
    );
    std::fs::write(directory.path().join("file"), "").unwrap();
    let obstructed = ImageOptions {
        store: Some(directory.path().join("file/store")),
        ..options
    };
    check_left_to_next(
        &obstructed,
        "localhost:1/missing:v1",
        "cannot create the image store",
    );
}

#[test]
fn a_malformed_reference_is_an_error_for_all() {
    let options = ImageOptions {
        mounts: vec![Mount::parse("type=volume,src=a,dst=/a")],
        ..ImageOptions::default()
    };
    let error = run(options, "UPPER/case::");
    assert!(matches!(&error, RunError::Unavailable(_)), "{error:?}");
    assert!(error.to_string().contains("is not a reference"), "{error}");
}

#[test]
fn a_pull_ends_with_its_deadline_and_when_it_is_cancelled() {
    let directory = tempfile::tempdir().unwrap();
    // It accepts connections and says nothing.
    let registry = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let image = format!("{}/silent:v1", registry.local_addr().unwrap());
    let evaluator = ImageEvaluator::new(ImageOptions {
        store: Some(directory.path().join("store")),
        levels: LevelChoice::Landlock,
        temporary: directory.path().to_owned(),
        ..ImageOptions::default()
    });
    let runner = evaluator.find(&FunctionSpec::image(image)).ok().unwrap();
    let runner = runner.into_runner();
    let input = Input::new(Dialect::Current, &[], None);
    let timeout = std::time::Duration::from_millis(50);
    let late = RunContext {
        deadline: Deadline::after(timeout),
        ..RunContext::default()
    };
    let error = runner.run(&input, &late).map(|_| ()).unwrap_err();
    assert!(matches!(error, RunError::TimedOut { .. }), "{error:?}");
    let cancelled = RunContext::default();
    cancelled.cancel.cancel();
    let error = runner.run(&input, &cancelled).map(|_| ()).unwrap_err();
    assert!(matches!(error, RunError::Cancelled), "{error:?}");
}
