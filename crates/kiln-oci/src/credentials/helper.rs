//! Docker's credential helpers: programs named `docker-credential-NAME` that are asked for one server.

use std::ffi::OsStr;
use std::io;
use std::process::Stdio;
use std::time::Duration;

use serde::Deserialize;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::Command;

use super::Credentials;
use crate::manifest::null_is_empty;
use crate::said::{JsonError, clipped};

/// A helper that says nothing for so long says nothing at all.
const PATIENCE: Duration = Duration::from_secs(30);
const MAX_ANSWER: u64 = 64 << 10;

/// A helper did not answer.
#[derive(Debug, thiserror::Error)]
pub enum HelperError {
    /// Its name is a path.
    #[error("its name is not that of a program")]
    Name,
    /// It cannot be run.
    #[error("it cannot be run")]
    Run(#[source] io::Error),
    /// It failed.
    #[error("it failed: {0}")]
    Failed(String),
    /// It took too long.
    #[error("it has not answered within {} seconds", PATIENCE.as_secs())]
    Slow,
    /// What it said is no answer.
    #[error("its answer is not what helpers say")]
    Answer(#[source] JsonError),
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Answer {
    #[serde(default, deserialize_with = "null_is_empty")]
    username: String,
    #[serde(default, deserialize_with = "null_is_empty")]
    secret: String,
}

/// What a helper knows about a server; none if it says that it knows nothing.
pub(super) async fn ask_helper(
    name: &str,
    server: &str,
) -> Result<Option<Credentials>, HelperError> {
    if name.contains(['/', '\\']) {
        return Err(HelperError::Name);
    }
    ask(OsStr::new(&format!("docker-credential-{name}")), server).await
}

/// Asks a program.
pub(super) async fn ask(program: &OsStr, server: &str) -> Result<Option<Credentials>, HelperError> {
    let asked = tokio::time::timeout(PATIENCE, run(program, server)).await;
    let (success, said) = asked
        .map_err(|_| HelperError::Slow)?
        .map_err(HelperError::Run)?;
    if !success {
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        let unknown = said.contains("credentials not found in native keychain")
            || said.contains("no credentials server URL");
        return match unknown {
            true => Ok(None),
            false => Err(HelperError::Failed(clipped(&said))),
        };
    }
    let answer: Answer = serde_json::from_slice(&said)
        .map_err(|error| HelperError::Answer(JsonError::in_secret(&error)))?;
    Ok(match (answer.username.as_str(), answer.secret) {
        ("", secret) if secret.is_empty() => None,
        ("<token>", secret) => Some(Credentials::Identity(secret)),
        (username, secret) => Some(Credentials::Basic {
            username: username.to_owned(),
            password: secret,
        }),
    })
}

async fn run(program: &OsStr, server: &str) -> io::Result<(bool, Vec<u8>)> {
    let mut child = Command::new(program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that does not read its input may be right all the same.
        let _ = stdin.write_all(server.as_bytes()).await;
    }
    let mut said = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MAX_ANSWER).read_to_end(&mut said).await?;
    }
    let status = child.wait().await?;
    Ok((status.success(), said))
}
