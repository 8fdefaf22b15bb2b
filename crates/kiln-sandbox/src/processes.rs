//! The processes of the system, as `/proc` shows them.
//!
//! Where there is no `/proc` there is nobody to be seen.

use rustix::process::getpid;

/// A process at the moment it was looked at.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Process {
    /// Its number.
    pub id: i32,
    /// Who started or adopted it.
    pub parent: i32,
    /// The group it is in.
    pub group: i32,
    /// The session it is in.
    pub session: i32,
    /// How many threads it has.
    pub threads: u64,
    /// When it was started, in ticks since the system was.
    pub started: u64,
}

/// All processes; nobody, if `/proc` counts processes in another way than we do: it may be that of the host.
pub fn processes() -> Vec<Process> {
    let us = getpid().as_raw_nonzero().get().to_string();
    if std::fs::read_link("/proc/self").is_ok_and(|link| link.as_os_str() != us.as_str()) {
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

/// Whether a process is the one that ends functions when this process is killed. It is a child of this process, and no
/// function.
pub fn is_watcher(process: i32) -> bool {
    #[cfg(target_os = "linux")]
    return crate::linux::watcher() == Some(process);
    #[cfg(not(target_os = "linux"))]
    return process < 0;
}

/// Reads a line like `7 (name) S 1 …`; the name may have anything in it, parentheses too.
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
