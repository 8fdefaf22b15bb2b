//! The processes of the system, from `/proc`.
//!
//! Without `/proc` there are none.

use rustix::process::getpid;

/// The state of a process at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process {
    pub id: i32,
    /// The process that started or adopted it.
    pub parent: i32,
    pub group: i32,
    pub session: i32,
    pub threads: u64,
    /// Start time, in ticks since boot.
    pub started: u64,
}

/// Whether `/proc` exists and has the same process IDs as we do: it may be that of the host.
pub(crate) fn are_visible() -> bool {
    let us = getpid().as_raw_nonzero().get().to_string();
    std::fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() == us.as_str())
}

/// All processes; empty if `/proc` does not show ours.
pub fn processes() -> Vec<Process> {
    if !are_visible() {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let processes = names.filter_map(|name| {
        let id = name.parse().ok()?;
        let stat = std::fs::read(format!("/proc/{name}/stat")).ok()?;
        parse(id, &stat)
    });
    processes.collect()
}

/// Whether a process is the one that kills functions when this process is killed. It is a child of this process, but
/// not a function.
pub fn is_watcher(process: i32) -> bool {
    #[cfg(target_os = "linux")]
    return crate::linux::watcher() == Some(process);
    #[cfg(not(target_os = "linux"))]
    return process < 0;
}

/// Parses a line like `7 (name) S 1 …`; the name may contain anything, including parentheses.
fn parse(id: i32, stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(stat.get(name_end + 1..)?).ok()?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    Some(Process {
        id,
        parent: fields.get(1)?.parse().ok()?,
        group: fields.get(2)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        threads: fields.get(17)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests;
