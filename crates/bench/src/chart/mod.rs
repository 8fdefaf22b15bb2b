//! A bar chart of measured times, as SVG.
//!
//! The picture has no background and takes its colours from the reader's colour scheme, so that it is readable in light and
//! in dark. It depends on nothing but the measured values.

use std::fmt::Write;

const WIDTH: f64 = 760.0;
const MARGIN: f64 = 16.0;
/// Where bars begin, behind the names of the programs.
const BARS_AT: f64 = 104.0;
/// Where the longest bar ends; the values stand behind it.
const BARS_END: f64 = 616.0;
const TITLE_HEIGHT: f64 = 40.0;
const HEADING_HEIGHT: f64 = 26.0;
const BAR_HEIGHT: f64 = 16.0;
const BAR_STEP: f64 = 22.0;
const GROUP_GAP: f64 = 10.0;
const AXIS_HEIGHT: f64 = 36.0;

/// From this ratio of the longest to the shortest time on, short bars could not be compared on a linear scale.
const LOGARITHMIC_FROM: f64 = 12.0;

const STYLE: &str = "\
  text { font: 13px system-ui, sans-serif; fill: #1f2328; }
  .title { font-size: 15px; font-weight: 600; }
  .axis, .note { font-size: 11px; fill: #59636e; }
  .grid { stroke: #d1d9e0; stroke-width: 1; }
  .kiln { fill: #d9480f; }
  .kpt { fill: #818b98; }
  .kustomize { fill: #3b5bdb; }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc; }
    .axis, .note { fill: #9198a1; }
    .grid { stroke: #3d444d; }
    .kiln { fill: #ff7a45; }
    .kpt { fill: #9198a1; }
    .kustomize { fill: #748ffc; }
  }
";

/// The measured times of several programs on several pieces of work.
pub(crate) struct Chart {
    pub(crate) title: String,
    /// How and where the times were measured.
    pub(crate) note: String,
    pub(crate) groups: Vec<BarGroup>,
}

/// The times of one piece of work.
pub(crate) struct BarGroup {
    pub(crate) heading: String,
    pub(crate) bars: Vec<Bar>,
}

/// The time of one program.
pub(crate) struct Bar {
    pub(crate) program: MeasuredProgram,
    pub(crate) seconds: f64,
}

/// The compared programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MeasuredProgram {
    Kiln,
    Kpt,
    Kustomize,
}

impl MeasuredProgram {
    pub(crate) fn name(self) -> &'static str {
        match self {
            MeasuredProgram::Kiln => "kiln",
            MeasuredProgram::Kpt => "kpt",
            MeasuredProgram::Kustomize => "kustomize",
        }
    }
}

impl Chart {
    /// The chart as an SVG document.
    pub(crate) fn to_svg(&self) -> String {
        let bars = self
            .groups
            .iter()
            .map(|group| group.bars.len())
            .sum::<usize>() as f64;
        let groups = self.groups.len() as f64;
        let plot_end = TITLE_HEIGHT + groups * (HEADING_HEIGHT + GROUP_GAP) + bars * BAR_STEP;
        let height = plot_end + AXIS_HEIGHT;
        let scale = Scale::of(self.times());
        let mut svg = Svg(String::new());
        svg.line(format_args!(
            r#"<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" role="img">"#
        ));
        svg.line(format_args!("<title>{}</title>", escaped(&self.title)));
        svg.line(format_args!("<style>\n{STYLE}</style>"));
        svg.text("title", MARGIN, 24.0, &self.title);
        for tick in scale.ticks() {
            let x = scale.x(tick);
            svg.line(format_args!(
                r#"<line class="grid" x1="{x:.1}" y1="{TITLE_HEIGHT}" x2="{x:.1}" y2="{plot_end}"/>"#
            ));
            svg.text("axis", x + 3.0, plot_end + 12.0, &shown_time(tick));
        }
        let mut y = TITLE_HEIGHT;
        for group in &self.groups {
            svg.text("heading", MARGIN, y + 18.0, &group.heading);
            y += HEADING_HEIGHT;
            for bar in &group.bars {
                svg.bar(bar, group, &scale, y);
                y += BAR_STEP;
            }
            y += GROUP_GAP;
        }
        let scale = match scale {
            Scale::Linear { .. } => "",
            Scale::Logarithmic { .. } => "; logarithmic scale",
        };
        svg.text(
            "note",
            MARGIN,
            height - 6.0,
            &format!("{}{scale}", self.note),
        );
        svg.0.push_str("</svg>\n");
        svg.0
    }

    fn times(&self) -> impl Iterator<Item = f64> {
        let bars = self.groups.iter().flat_map(|group| &group.bars);
        bars.map(|bar| bar.seconds)
    }
}

/// An SVG document that is being written.
struct Svg(String);

impl Svg {
    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{line}");
    }

    fn text(&mut self, class: &str, x: f64, y: f64, text: &str) {
        let text = escaped(text);
        self.line(format_args!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{text}</text>"#
        ));
    }

    fn bar(&mut self, bar: &Bar, group: &BarGroup, scale: &Scale, y: f64) {
        let name = bar.program.name();
        let end = scale.x(bar.seconds).max(BARS_AT + 1.0);
        let width = end - BARS_AT;
        let baseline = y + 12.5;
        self.text("program", MARGIN + 8.0, baseline, name);
        self.line(format_args!(
            r#"<rect class="{name}" x="{BARS_AT}" y="{y}" width="{width:.1}" height="{BAR_HEIGHT}" rx="2"/>"#
        ));
        let ours = group
            .bars
            .iter()
            .find(|bar| bar.program == MeasuredProgram::Kiln);
        let ratio = ours.map(|ours| bar.seconds / ours.seconds);
        let value = match ratio.filter(|_| bar.program != MeasuredProgram::Kiln) {
            Some(ratio) => format!("{} ({ratio:.0}x)", shown_time(bar.seconds)),
            None => shown_time(bar.seconds),
        };
        self.text("value", end + 6.0, baseline, &value);
    }
}

/// How times become lengths.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Scale {
    Linear {
        longest: f64,
    },
    /// Powers of ten.
    Logarithmic {
        lowest: i32,
        highest: i32,
    },
}

impl Scale {
    fn of(times: impl Iterator<Item = f64>) -> Scale {
        let times: Vec<f64> = times
            .filter(|time| time.is_finite() && *time > 0.0)
            .collect();
        let longest = times.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
        let shortest = times.iter().copied().fold(longest, f64::min);
        if longest / shortest < LOGARITHMIC_FROM {
            return Scale::Linear { longest };
        }
        // The shortest bar is at least a third of a power of ten long.
        let lowest = (shortest.log10() - 0.3).floor() as i32;
        let highest = longest.log10().ceil() as i32;
        Scale::Logarithmic { lowest, highest }
    }

    fn x(self, seconds: f64) -> f64 {
        let part = match self {
            Scale::Linear { longest } => seconds / longest,
            Scale::Logarithmic { lowest, highest } => {
                (seconds.log10() - f64::from(lowest)) / f64::from(highest - lowest)
            }
        };
        BARS_AT + part.clamp(0.0, 1.0) * (BARS_END - BARS_AT)
    }

    fn ticks(self) -> Vec<f64> {
        match self {
            Scale::Linear { longest } => vec![0.0, longest / 2.0, longest],
            Scale::Logarithmic { lowest, highest } => {
                (lowest..=highest).map(|power| 10f64.powi(power)).collect()
            }
        }
    }
}

/// A time with two digits at least, in the unit that fits it.
fn shown_time(seconds: f64) -> String {
    let milliseconds = seconds * 1e3;
    match milliseconds {
        ..0.0005 => "0".to_owned(),
        ..0.995 => format!("{milliseconds:.1} ms"),
        ..9.95 if (milliseconds - milliseconds.round()).abs() > 0.04 => {
            format!("{milliseconds:.1} ms")
        }
        ..999.5 => format!("{milliseconds:.0} ms"),
        ..9950.0 if (seconds - seconds.round()).abs() > 0.04 => format!("{seconds:.1} s"),
        _ => format!("{seconds:.0} s"),
    }
}

fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;");
    text.replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests;
