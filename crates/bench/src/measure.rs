//! One measurement in one process: best time of some rounds, and peak memory.

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use anyhow::bail;
use kiln_yaml::{Encoder, SequenceStyle, parse_all};
use serde::{Deserialize, Serialize};

use crate::inputs::Source;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    source: Source,
    /// Number of rounds; the best one is used.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
}

/// The format that the peers print too.
#[derive(Serialize, Deserialize, Clone, Copy)]
pub(crate) struct Report {
    pub(crate) bytes: u64,
    pub(crate) best_seconds: f64,
    pub(crate) mb_per_s: f64,
    /// Zero if the system does not report it.
    pub(crate) peak_rss_bytes: u64,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let inputs = args.source.load()?;
    let bytes: usize = inputs.iter().map(Vec::len).sum();
    let mut best_seconds = f64::INFINITY;
    for _ in 0..args.rounds.max(1) {
        let start = Instant::now();
        let mut written = 0;
        for input in &inputs {
            written += black_box(rewrite(input)?).len();
        }
        best_seconds = best_seconds.min(start.elapsed().as_secs_f64());
        if written == 0 {
            bail!("nothing was written");
        }
    }
    let report = Report {
        bytes: bytes as u64,
        best_seconds,
        mb_per_s: bytes as f64 / 1e6 / best_seconds,
        peak_rss_bytes: peak_rss(),
    };
    writeln!(out, "{}", serde_json::to_string(&report)?)?;
    Ok(())
}

/// Parses and writes every document, with compact sequences.
fn rewrite(input: &[u8]) -> anyhow::Result<String> {
    let documents = parse_all(input)?;
    let mut encoder = Encoder::new();
    for document in &documents {
        encoder.document(document, SequenceStyle::Compact);
    }
    Ok(encoder.finish())
}

pub(crate) fn peak_rss() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB"));
    let kib = kib.and_then(|kib| kib.trim().parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
