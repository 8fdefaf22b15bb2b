//! Docker's credential helpers: programs named `docker-credential-NAME`.

use std::ffi::OsStr;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::Credentials;
use crate::excerpt::{InvalidJson, excerpt};
use crate::manifest::null_is_empty;

/// How long a helper may run.
const TIMEOUT: Duration = Duration::from_secs(30);
const MAX_OUTPUT: u64 = 64 << 10;

/// Why a helper returned no credentials.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// The name in the configuration is a path.
    #[error("its name must not contain a path separator")]
    Name,
    #[error("it cannot be run")]
    Run(#[source] io::Error),
    #[error("it failed: {0}")]
    Failed(String),
    #[error("no output within {} seconds", TIMEOUT.as_secs())]
    TimedOut,
    #[error("its output is invalid")]
    Output(#[source] InvalidJson),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperOutput {
    #[serde(default, deserialize_with = "null_is_empty")]
    username: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    secret: String,
}

/// Gets the credentials for a server from a helper; `None` if the helper has none.
pub(super) async fn run_helper(
    name: &str,
    server: &str,
) -> Result<Option<Credentials>, HelperError> {
    if name.contains(['/', '\\']) {
        return Err(HelperError::Name);
    }
    run_program(OsStr::new(&format!("docker-credential-{name}")), server).await
}

/// Gets the credentials for a server from a program.
pub(super) async fn run_program(
    program: &OsStr,
    server: &str,
) -> Result<Option<Credentials>, HelperError> {
    let output = tokio::time::timeout(TIMEOUT, output(program, server)).await;
    let (success, stdout) = output
        .map_err(|_| HelperError::TimedOut)?
        .map_err(HelperError::Run)?;
    if !success {
        let message = String::from_utf8_lossy(&stdout).trim().to_owned();
        let not_found = message.contains("credentials not found in native keychain")
            || message.contains("no credentials server URL");
        return match not_found {
            true => Ok(None),
            false => Err(HelperError::Failed(excerpt(&message))),
        };
    }
    let found: HelperOutput = serde_json::from_slice(&stdout)
        .map_err(|error| HelperError::Output(InvalidJson::without_content(&error)))?;
    Ok(match (found.username.as_str(), found.secret) {
        ("", secret) if secret.is_empty() => None,
        ("<token>", secret) => Some(Credentials::Identity(secret)),
        (username, secret) => Some(Credentials::Basic {
            username: username.to_owned(),
            password: secret,
        }),
    })
}

async fn output(program: &OsStr, server: &str) -> io::Result<(bool, Vec<u8>)> {
    let mut child = Command::new(program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that does not read its input may still return credentials.
        let _ = stdin.write_all(server.as_bytes()).await;
    }
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MAX_OUTPUT).read_to_end(&mut output).await?;
    }
    let status = child.wait().await?;
    Ok((status.success(), output))
}
