//! Values that Porch's runner accepts although they have no meaning.
//!
//! A command line that starts Porch's runner starts this one too. Each function returns what is used instead, and adds a
//! warning, which is logged as soon as there is a log.

use std::time::Duration;

use kiln_go::GoDuration;
use kiln_proto::DEFAULT_MAX_MESSAGE_SIZE;
use kiln_telemetry::LogLevel;

use crate::config::Runtimes;

/// gRPC has no larger messages.
const MOST_BYTES: i64 = i32::MAX as i64;

/// Go's flag package ends at the first argument that is not a flag, and Porch does not look at the rest.
pub(super) fn ignore(rest: &[String], warnings: &mut Vec<String>) {
    if let Some(first) = rest.first() {
        warnings.push(format!(
            "unexpected argument {first:?}: it and the {} after it are ignored (write booleans as --flag=false)",
            rest.len() - 1
        ));
    }
}

/// All runtimes but those of a list.
pub(super) fn runtimes(disabled: &str, warnings: &mut Vec<String>) -> Runtimes {
    let mut runtimes = Runtimes {
        native: true,
        exec: true,
        pod: true,
    };
    for name in disabled.split(',').map(str::trim) {
        match name {
            "" => {}
            "native" => runtimes.native = false,
            "exec" => runtimes.exec = false,
            "pod" => runtimes.pod = false,
            _ => warnings.push(format!(
                "unknown runtime {name:?} in --disable-runtimes is ignored: the runtimes are native, exec and pod"
            )),
        }
    }
    runtimes
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

/// Porch's runner with a limit of nothing refuses every request, which is never what the flag is for.
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

/// Porch's runner with an interval of nothing never looks at pods again and keeps all of them.
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

/// To Porch's runner, a pod with a negative TTL is one that goes as soon as it has no work.
pub(super) fn pod_ttl(ttl: GoDuration, warnings: &mut Vec<String>) -> Duration {
    ttl.to_std().unwrap_or_else(|| {
        warnings.push(format!("--pod-ttl {ttl} is negative: 0s is used"));
        Duration::ZERO
    })
}
