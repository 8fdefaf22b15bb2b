//! Policies in Rego.

use std::fmt::Write;
use std::time::{Duration, Instant};

use kiln_functions::registry::Registry;
use kiln_functions::{Context, NoFiles, wire};
use kiln_runtime::{Deadline, RunContext};

use crate::bounded;

/// What one policy may take.
const MAX_BYTES: usize = 256 * 1024 * 1024;

/// How long one policy may run. A policy that is not stopped then is found by the time limit of the fuzzer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// No rules make the function panic, overflow the stack, or take more memory than they may.
pub fn rego(input: &[u8]) {
    let Ok(rules) = str::from_utf8(input) else {
        return;
    };
    let mut rego = String::from("package foo\\n");
    for c in rules.chars() {
        match c {
            '"' | '\\' => _ = write!(rego, "\\{c}"),
            '\n' => rego.push_str("\\n"),
            c if c.is_ascii_control() => _ = write!(rego, "\\x{:02x}", u32::from(c)),
            c => rego.push(c),
        }
    }
    let list = format!(
        "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {{apiVersion: \
         templates.gatekeeper.sh/v1, kind: ConstraintTemplate, metadata: {{name: foo}}, spec: {{crd: {{spec: {{names: \
         {{kind: Foo}}}}}}, targets: [{{target: admission.k8s.gatekeeper.sh, rego: \"{rego}\"}}]}}}}\n- {{apiVersion: \
         constraints.gatekeeper.sh/v1beta1, kind: Foo, metadata: {{name: c}}, spec: {{parameters: {{a: [1, b]}}}}}}\n- \
         {{apiVersion: v1, kind: Thing, metadata: {{name: o, namespace: n}}, spec: {{x: bad, y: [1, 2, {{z: q}}]}}}}\n"
    );
    let version = Registry::builtin().find_image("gatekeeper:latest");
    let version = version.expect("gatekeeper is built in");
    let run = RunContext {
        deadline: Some(Deadline {
            at: Instant::now() + TIMEOUT,
            timeout: TIMEOUT,
        }),
        ..RunContext::default()
    };
    let ctx = Context {
        environment: &[],
        run: &run,
        files: &NoFiles,
    };
    bounded::run(MAX_BYTES, || {
        // Whether the outcome is right is for the recorded cases to show.
        let _ = wire::run(version, list.into_bytes(), &ctx);
    });
}
