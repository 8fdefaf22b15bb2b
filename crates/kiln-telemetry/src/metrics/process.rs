//! CPU, memory and file descriptors of the process, with the conventional names. Needs `/proc`.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

/// The unit of CPU times in `/proc` (USER_HZ).
const TICKS_PER_SECOND: f64 = 100.0;

/// Reads `/proc` for every scrape.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        if let Some(seconds) = cpu_seconds() {
            let metric = ConstCounter::new(seconds);
            let help = "CPU time used";
            let seconds = Some(&Unit::Seconds);
            metric.encode(encoder.encode_descriptor(
                "process_cpu",
                help,
                seconds,
                metric.metric_type(),
            )?)?;
        }
        if let Some(bytes) = resident_bytes() {
            let metric = ConstGauge::new(bytes);
            let help = "Memory in use";
            let unit = Some(&Unit::Bytes);
            metric.encode(encoder.encode_descriptor(
                "process_resident_memory",
                help,
                unit,
                metric.metric_type(),
            )?)?;
        }
        if let Ok(descriptors) = fs::read_dir("/proc/self/fd") {
            // One of them is the directory being read.
            let count = i64::try_from(descriptors.count()).unwrap_or(i64::MAX) - 1;
            let metric = ConstGauge::new(count);
            metric.encode(encoder.encode_descriptor(
                "process_open_fds",
                "Open descriptors",
                None,
                metric.metric_type(),
            )?)?;
        }
        Ok(())
    }
}

/// User and system time, fields 14 and 15. The process name before them may contain anything, but ends with the last `)`.
fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<f64>().ok();
    Some((ticks()? + ticks()?) / TICKS_PER_SECOND)
}

fn resident_bytes() -> Option<i64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}
