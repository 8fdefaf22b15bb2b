//! Which image each evaluator is asked for, by pin.

use std::sync::{Arc, Mutex};

use kiln_policy::RunWay;
use kiln_runtime::{Evaluator, FindError, Found, FunctionPin, FunctionSpec};

use super::PinnedEvaluator;

const IMAGE: &str = "ghcr.io/kptdev/krm-functions-catalog/set-labels:v0.2.0";
const DIGEST: &str = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";

/// Finds nothing and remembers the names, and whether a policy sees the pin.
#[derive(Default)]
struct Asked(Mutex<Vec<String>>);

impl Evaluator for Asked {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        let mut name = function.name().to_owned();
        if function.pin.is_some() {
            name.push_str(" as pinned");
        }
        self.0.lock().expect("no panic").push(name);
        Err(FindError::not_found(function))
    }
}

#[track_caller]
fn check(way: RunWay, digest: Option<&str>, native: Option<&str>, expected: Option<&str>) {
    let asked = Arc::new(Asked::default());
    let evaluator = PinnedEvaluator {
        evaluator: Arc::<Asked>::clone(&asked),
        way,
    };
    let function = FunctionSpec {
        pin: Some(FunctionPin {
            digest: digest.map(str::to_owned),
            native: native.map(str::to_owned),
        }),
        ..FunctionSpec::image(IMAGE)
    };
    assert!(evaluator.find(&function).is_err());
    let names = asked.0.lock().expect("no panic").clone();
    let expected: Vec<String> = expected.into_iter().map(str::to_owned).collect();
    assert_eq!(names, expected, "{way:?} {digest:?} {native:?}");
}

#[test]
fn a_pin_selects_the_exact_version() {
    let identity = super::Registry::builtin().identity(IMAGE);
    let identity = identity.expect("it is built in").to_string();
    let native = identity.strip_prefix("native:").expect("native");
    let by_digest = format!("ghcr.io/kptdev/krm-functions-catalog/set-labels@{DIGEST}");
    let pinned = format!("{IMAGE} as pinned");
    check(RunWay::Native, None, Some(native), Some(&pinned));
    check(
        RunWay::Native,
        Some(DIGEST),
        Some("set-labels@v0.2.0#999"),
        None,
    );
    check(RunWay::Native, Some(DIGEST), None, None);
    check(RunWay::Exec, Some(DIGEST), None, Some(IMAGE));
    for way in [
        RunWay::Wasm,
        RunWay::Remote,
        RunWay::Image,
        RunWay::Engine,
        RunWay::Pod,
    ] {
        check(way, Some(DIGEST), Some(native), Some(&by_digest));
        check(way, None, Some(native), None);
    }
}
