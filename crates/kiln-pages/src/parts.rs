//! Parts that all pages share.

use maud::{Markup, html};

/// A name and a value in a list of tiles.
pub(crate) fn tile(name: &str, value: &str) -> Markup {
    html! { div { dt { (name) } dd { (value) } } }
}

/// A word about an outcome; its class selects the colour.
pub(crate) fn badge(word: &str) -> Markup {
    html! { strong class={ "badge " (word) } { (word) } }
}

/// A section that can be folded.
pub(crate) fn section(id: &str, title: &str, is_open: bool, content: Markup) -> Markup {
    html! {
        section id=(id) {
            details open[is_open] {
                summary { h2 { (title) } }
                (content)
            }
        }
    }
}

/// A number of things: `1 file`, `2 files`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        count => format!("{count} {noun}s"),
    }
}

/// A duration as people read it.
pub(crate) fn duration_text(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us / 100 % 10),
        _ => format!("{}.{:02} s", us / 1_000_000, us / 10_000 % 100),
    }
}

/// How long something has lasted: the two largest units.
pub(crate) fn age_text(ms: u64) -> String {
    let seconds = ms / 1_000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    match (days, hours, minutes) {
        (0, 0, 0) if seconds < 10 => format!("{seconds}.{} s", ms / 100 % 10),
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min {} s", seconds % 60),
        (0, _, _) => format!("{hours} h {} min", minutes % 60),
        _ => format!("{days} d {} h", hours % 24),
    }
}

/// A number of bytes as people read it.
pub(crate) fn bytes_text(bytes: u64) -> String {
    const KIB: u64 = 1 << 10;
    const MIB: u64 = 1 << 20;
    const GIB: u64 = 1 << 30;
    let tenths = |unit: u64| (bytes / unit, bytes % unit * 10 / unit);
    match bytes {
        0..KIB => format!("{bytes} B"),
        KIB..MIB => format!("{}.{} KiB", tenths(KIB).0, tenths(KIB).1),
        MIB..GIB => format!("{}.{} MiB", tenths(MIB).0, tenths(MIB).1),
        _ => format!("{}.{} GiB", tenths(GIB).0, tenths(GIB).1),
    }
}
