//! Charts as inline SVG, without scripts: colours come from classes of the page's style sheet.

use maud::{Markup, html};

/// One bar of a waterfall.
pub struct TimeBar<'a> {
    pub label: &'a str,
    /// The class of the bar, which selects its colour.
    pub class: &'a str,
    /// The address that the bar leads to.
    pub link: String,
    pub start_us: u64,
    pub duration_us: u64,
}

/// One bar of a histogram.
pub struct HistogramBar {
    pub label: String,
    /// Its text on the axis.
    pub tick: Option<String>,
    pub count: u64,
}

const WIDTH: u64 = 960;
const BAR_HEIGHT: usize = 18;
const ROW_HEIGHT: usize = 22;
const AXIS_HEIGHT: usize = 20;

/// Charts with more bars have no room for the names.
const MOST_LABELS: usize = 40;

/// Characters of a name that fit in half a chart.
const LABEL_LENGTH: usize = 60;

/// Bars along one time axis; bars that overlap get rows of their own. Screen readers get the titles of the bars.
pub fn waterfall(bars: &[TimeBar<'_>], total_us: u64, title: &str) -> Markup {
    let total = total_us.max(1);
    let scale = |us: u64| scaled(us.min(total), total);
    let has_labels = bars.len() <= MOST_LABELS;
    let rows: Vec<usize> = match has_labels {
        // Each bar has a row, so that there is room for its name.
        true => (0..bars.len()).collect(),
        false => lanes(bars.iter().map(|bar| (bar.start_us, bar.duration_us))),
    };
    let row_count = rows.iter().max().map_or(0, |last| last + 1);
    let height = row_count * ROW_HEIGHT + AXIS_HEIGHT;
    html! {
        svg.waterfall viewBox={ "0 0 " (WIDTH) " " (height) } role="group" aria-label=(title) {
            @for tick in 0..=4_u64 {
                @let x = WIDTH * tick / 4;
                line.grid x1=(x) x2=(x) y1="0" y2=(row_count * ROW_HEIGHT) {}
                text.axis x=(x) y=(height - 6) text-anchor=(anchor(tick)) { (millis(total * tick / 4)) }
            }
            @for (bar, row) in bars.iter().zip(rows) {
                @let x = scale(bar.start_us).min(WIDTH - 2);
                @let end = (x + scale(bar.duration_us).max(2)).min(WIDTH);
                a href=(bar.link) {
                    rect class={ "bar " (bar.class) } x=(x) y=(row * ROW_HEIGHT + 2) width=(end - x) height=(BAR_HEIGHT) rx="2" {
                        title { (bar.label) ": " (millis(bar.duration_us)) }
                    }
                }
                @if has_labels && end <= WIDTH / 2 {
                    text.label x=(end + 6) y=(row * ROW_HEIGHT + 15) aria-hidden="true" { (short(bar.label)) }
                } @else if has_labels && x >= WIDTH / 2 {
                    text.label x=(x - 6) y=(row * ROW_HEIGHT + 15) text-anchor="end" aria-hidden="true" { (short(bar.label)) }
                }
            }
        }
    }
}

/// When one part of a whole ran. The numbers beside it have the same for screen readers.
pub fn time_bar(class: &str, start_us: u64, duration_us: u64, total_us: u64) -> Markup {
    let total = total_us.max(1);
    let x = scaled(start_us.min(total), total);
    let width = scaled(duration_us.min(total), total).clamp(12, WIDTH);
    html! {
        svg.share viewBox={ "0 0 " (WIDTH) " 60" } preserveAspectRatio="none" aria-hidden="true" {
            rect.track x="0" y="22" width=(WIDTH) height="16" {}
            rect class={ "bar " (class) } x=(x.min(WIDTH - width)) y="10" width=(width) height="40" {}
        }
    }
}

/// Bars of counts.
pub fn histogram(bars: &[HistogramBar], title: &str) -> Markup {
    const HEIGHT: u64 = 120;
    let most = bars.iter().map(|bar| bar.count).max().unwrap_or(0).max(1);
    let width = WIDTH / u64::try_from(bars.len().max(1)).unwrap_or(1);
    html! {
        svg.histogram viewBox={ "0 0 " (WIDTH) " " (HEIGHT + 20) } role="img" aria-label=(title) {
            @for (bar, index) in bars.iter().zip(0_u64..) {
                @let height = bar.count.saturating_mul(HEIGHT) / most;
                rect.bar x=(index * width + 1) y=(HEIGHT - height) width=(width.saturating_sub(2).max(1)) height=(height) {
                    title { (bar.label) ": " (bar.count) }
                }
                @if let Some(tick) = &bar.tick {
                    text.axis x=(index * width) y=(HEIGHT + 14) text-anchor="start" { (tick) }
                }
            }
        }
    }
}

/// The row of each interval, so that intervals in one row do not overlap. Intervals begin in any order.
pub fn lanes(intervals: impl Iterator<Item = (u64, u64)>) -> Vec<usize> {
    let mut ends: Vec<u64> = Vec::new();
    let mut rows = Vec::new();
    for (start, duration) in intervals {
        let free = ends.iter().position(|end| *end <= start);
        let row = free.unwrap_or(ends.len());
        let end = start.saturating_add(duration);
        match ends.get_mut(row) {
            Some(last) => *last = end,
            None => ends.push(end),
        }
        rows.push(row);
    }
    rows
}

fn scaled(us: u64, total: u64) -> u64 {
    let x = u128::from(us) * u128::from(WIDTH) / u128::from(total);
    u64::try_from(x).unwrap_or(WIDTH)
}

/// The end of a name, which distinguishes images.
fn short(label: &str) -> String {
    let skipped = label.chars().count().saturating_sub(LABEL_LENGTH);
    match skipped {
        0 => label.to_owned(),
        skipped => format!("…{}", label.chars().skip(skipped).collect::<String>()),
    }
}

fn anchor(tick: u64) -> &'static str {
    match tick {
        0 => "start",
        4 => "end",
        _ => "middle",
    }
}

fn millis(us: u64) -> String {
    format!("{}.{} ms", us / 1_000, us / 100 % 10)
}
