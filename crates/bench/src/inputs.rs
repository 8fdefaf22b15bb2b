//! The measured inputs: those of a recorded set, or one file.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

/// Where inputs come from.
#[derive(clap::Args, Clone)]
#[group(required = true, multiple = false)]
pub(crate) struct Source {
    /// A recorded set: JSON lines with an `in` field.
    #[arg(long)]
    pub(crate) set: Option<PathBuf>,
    /// One YAML file.
    #[arg(long)]
    pub(crate) file: Option<PathBuf>,
}

impl Source {
    pub(crate) fn load(&self) -> anyhow::Result<Vec<Vec<u8>>> {
        if let Some(set) = &self.set {
            return load_set(set).with_context(|| format!("cannot read {}", set.display()));
        }
        let file = self.file.as_deref().unwrap_or(Path::new("/dev/stdin"));
        let input = fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        Ok(vec![input])
    }
}

#[derive(Deserialize)]
struct RecordedPair {
    #[serde(rename = "in")]
    input: Text,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Plain(String),
    Encoded { base64: String },
}

fn load_set(path: &Path) -> anyhow::Result<Vec<Vec<u8>>> {
    let mut inputs = Vec::new();
    for line in BufReader::new(File::open(path)?).lines() {
        let record: RecordedPair = serde_json::from_str(&line?)?;
        inputs.push(match record.input {
            Text::Plain(text) => text.into_bytes(),
            Text::Encoded { base64 } => BASE64_STANDARD.decode(base64)?,
        });
    }
    Ok(inputs)
}
