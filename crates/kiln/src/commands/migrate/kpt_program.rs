//! The kpt that kiln is compared with.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, anyhow};
use kiln_runtime::process::{self, Program, StopSignal};
use kiln_runtime::{CancelToken, Deadline, RunContext, RunError};

use crate::environment::{KILN_KPT, PATH};
use crate::error::{CommandError, bail_usage};
use crate::real_program;

/// The time for which a kpt may look for its version. One that needs longer is still a program that starts.
const VERSION_TIMEOUT: Duration = Duration::from_secs(10);

/// The kpt that the variable names, else the one on the PATH; `None` if there is none. One that cannot be started is an
/// error here, not in every package.
pub(super) fn find_kpt(cancel: &CancelToken) -> Result<Option<PathBuf>> {
    let Some(kpt) = real_program::find("kpt", KILN_KPT) else {
        let named = std::env::var_os(KILN_KPT).filter(|named| !named.is_empty());
        if let Some(named) = named {
            bail_usage!("{KILN_KPT} is {}, which is kiln itself", named.display());
        }
        return Ok(None);
    };
    let name = kpt.to_str();
    let name = name.ok_or_else(|| anyhow!("the name of {} is not UTF-8", kpt.display()))?;
    let program = Program {
        name,
        arguments: &["version".to_owned()],
        search_path: &std::env::var_os(PATH).unwrap_or_default(),
        stop_signal: StopSignal::Kill,
        sandbox: None,
        environment: None,
    };
    let ctx = RunContext {
        deadline: Deadline::after(VERSION_TIMEOUT),
        cancel: cancel.clone(),
        ..RunContext::default()
    };
    match process::run(program, b"", &ctx) {
        Err(RunError::NotStarted(error)) => Err(CommandError {
            hint: Some(format!(
                "set {KILN_KPT} to the path of a kpt that runs on this machine"
            )),
            ..CommandError::usage(format!("cannot run kpt: {error}"))
        }
        .into()),
        Err(RunError::Cancelled) => Err(RunError::Cancelled.into()),
        _ => Ok(Some(kpt)),
    }
}
