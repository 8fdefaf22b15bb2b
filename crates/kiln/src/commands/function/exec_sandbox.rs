//! What programs run in that are functions.

use std::ffi::OsString;
use std::sync::Arc;

use anyhow::{Context, Result};
use kiln_exec::ExecRuntime;
use kiln_runtime::Network;
use kiln_sandbox::{Sandbox, SandboxMode, SandboxPolicy, Surroundings};

/// Runs programs that are searched for in `search_path`, in a sandbox if the user wants one. Who asks for a sandbox that
/// the system does not have gets an error, not less.
pub(crate) fn exec_runtime(
    search_path: OsString,
    mode: SandboxMode,
    network: Network,
) -> Result<ExecRuntime> {
    let runtime = ExecRuntime::new(search_path);
    match mode {
        SandboxMode::Off => Ok(runtime),
        SandboxMode::Strict => {
            let policy = SandboxPolicy {
                allow_network: network == Network::Host,
                ..SandboxPolicy::default()
            };
            let surroundings = Surroundings {
                environment: std::env::vars_os().collect(),
                temporary: std::env::temp_dir(),
            };
            let sandbox = Sandbox::new(policy, surroundings).context("--exec-sandbox=strict")?;
            Ok(runtime.with_sandbox(Arc::new(sandbox)))
        }
    }
}
