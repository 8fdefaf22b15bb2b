//! Values that Porch's runner accepts although they make no sense.
//!
//! A command line that starts Porch's runner starts this one too. Each function returns the value to use instead, and
//! adds a warning, which is logged once logging has started.

use std::time::Duration;

use kiln_go::GoDuration;
use kiln_proto::DEFAULT_MAX_MESSAGE_SIZE;
use kiln_telemetry::LogLevel;

use crate::config::EnabledEvaluators;

/// The maximum of gRPC.
const MOST_BYTES: i64 = i32::MAX as i64;

/// Go's flag package stops at the first argument that is not a flag, and Porch ignores the rest.
pub(super) fn ignore(rest: &[String], warnings: &mut Vec<String>) {
    if let Some(first) = rest.first() {
        warnings.push(format!(
            "unexpected argument {first:?}: it and the {} after it are ignored (write booleans as --flag=false)",
            rest.len() - 1
        ));
    }
}

/// All evaluators except those in a list.
pub(super) fn enabled_evaluators(disabled: &str, warnings: &mut Vec<String>) -> EnabledEvaluators {
    let mut evaluators = EnabledEvaluators {
        native: true,
        exec: true,
        image: true,
        wasm: true,
        pod: true,
    };
    for name in disabled.split(',').map(str::trim) {
        match name {
            "" => {}
            "native" => evaluators.native = false,
            "exec" => evaluators.exec = false,
            "wasm" => evaluators.wasm = false,
            "image" => evaluators.image = false,
            "pod" => evaluators.pod = false,
            _ => warnings.push(format!(
                "unknown evaluator {name:?} in --disable-runtimes is ignored: the evaluators are native, exec, wasm, image and pod"
            )),
        }
    }
    evaluators
}

pub(super) fn log_level(number: i64, warnings: &mut Vec<String>) -> LogLevel {
    if !(0..=5).contains(&number) {
        let used = number.clamp(0, 5);
        warnings.push(format!(
            "--log-level {number} is not from 0 to 5: {used} is used"
        ));
    }
    LogLevel::clamped(number)
}

/// With a limit of 0, Porch's runner refuses every request, which no user wants.
pub(super) fn message_size(bytes: i64, warnings: &mut Vec<String>) -> usize {
    let used = match bytes {
        ..=0 => DEFAULT_MAX_MESSAGE_SIZE,
        bytes => usize::try_from(bytes.min(MOST_BYTES)).unwrap_or(DEFAULT_MAX_MESSAGE_SIZE),
    };
    if !(1..=MOST_BYTES).contains(&bytes) {
        warnings.push(format!(
            "--max-request-body-size {bytes} is not from 1 to {MOST_BYTES}: {used} is used"
        ));
    }
    used
}

/// With an interval of 0, Porch's runner never checks its pods and keeps all of them.
pub(super) fn scan_interval(
    interval: GoDuration,
    default: Duration,
    warnings: &mut Vec<String>,
) -> Duration {
    match interval.to_std().filter(|interval| !interval.is_zero()) {
        Some(interval) => interval,
        None => {
            warnings.push(format!(
                "--scan-interval {interval} is not positive: the default of {} is used",
                GoDuration::from(default)
            ));
            default
        }
    }
}

/// With a negative TTL, Porch's runner deletes a pod as soon as it has no calls.
pub(super) fn pod_ttl(ttl: GoDuration, warnings: &mut Vec<String>) -> Duration {
    ttl.to_std().unwrap_or_else(|| {
        warnings.push(format!("--pod-ttl {ttl} is negative: 0s is used"));
        Duration::ZERO
    })
}
