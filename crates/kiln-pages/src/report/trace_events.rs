//! The Trace Event format, which browsers and Perfetto open: a complete event per step and phase.

use serde_json::{Value, json};

use super::format::json_text;
use super::model::ReportModel;
use crate::chart::lanes;

pub(super) fn write(model: &ReportModel) -> String {
    let times = model.steps.iter();
    let lanes = lanes(times.map(|step| (step.start_us, step.duration_us)));
    let mut events: Vec<Value> = vec![json!({
        "name": "process_name", "ph": "M", "pid": 1, "tid": 0,
        "args": {"name": model.tool},
    })];
    // Thread 0 shows the phases; the steps follow in as few threads as their times allow.
    events.extend(model.phases.iter().map(|phase| {
        json!({
            "name": phase.name, "cat": "phase", "ph": "X", "pid": 1, "tid": 0,
            "ts": phase.start_us, "dur": phase.duration_us,
        })
    }));
    events.extend(model.steps.iter().zip(lanes).map(|(step, lane)| {
        json!({
            "name": step.function, "cat": "function", "ph": "X", "pid": 1, "tid": lane + 1,
            "ts": step.start_us, "dur": step.duration_us,
            "args": {
                "package": step.package,
                "identity": step.identity,
                "exitCode": step.exit_code,
                "resources": step.resources_in,
                "changed": step.touched.len(),
            },
        })
    }));
    json_text(&json!({"displayTimeUnit": "ms", "traceEvents": events}))
}
