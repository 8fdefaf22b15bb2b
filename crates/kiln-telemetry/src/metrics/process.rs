//! CPU, memory and file descriptors of the process, with the conventional names.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

use crate::process_usage::process_usage;

/// Reads `/proc` for every scrape.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let usage = process_usage();
        if let Some(seconds) = usage.cpu_seconds {
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
        if let Some(bytes) = usage.resident_bytes {
            let metric = ConstGauge::new(i64::try_from(bytes).unwrap_or(i64::MAX));
            let help = "Memory in use";
            let unit = Some(&Unit::Bytes);
            metric.encode(encoder.encode_descriptor(
                "process_resident_memory",
                help,
                unit,
                metric.metric_type(),
            )?)?;
        }
        if let Some(count) = usage.open_files {
            let metric = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
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
