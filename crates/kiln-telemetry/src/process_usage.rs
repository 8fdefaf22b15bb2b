//! CPU, memory and file descriptors of this process. Needs `/proc`.

use std::fs;

/// The unit of CPU times in `/proc` (USER_HZ).
const TICKS_PER_SECOND: f64 = 100.0;

/// What this process uses; `None` for what the system does not report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ProcessUsage {
    pub cpu_seconds: Option<f64>,
    pub resident_bytes: Option<u64>,
    pub open_files: Option<u64>,
}

/// Reads what this process uses now.
pub fn process_usage() -> ProcessUsage {
    let open_files = fs::read_dir("/proc/self/fd").ok();
    // One of them is the directory being read.
    let open_files = open_files.map(|files| files.count().saturating_sub(1));
    ProcessUsage {
        cpu_seconds: cpu_seconds(),
        resident_bytes: resident_bytes(),
        open_files: open_files.and_then(|count| u64::try_from(count).ok()),
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

fn resident_bytes() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}
