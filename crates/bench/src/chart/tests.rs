//! Tests of the module above.

use std::fs;
use std::path::Path;

use super::{Bar, BarGroup, Chart, MeasuredProgram, Scale, shown_time};

fn group(heading: &str, times: &[(MeasuredProgram, f64)]) -> BarGroup {
    let bar = |(program, seconds): &(MeasuredProgram, f64)| Bar {
        program: *program,
        seconds: *seconds,
    };
    BarGroup {
        heading: heading.to_owned(),
        bars: times.iter().map(bar).collect(),
    }
}

fn chart(groups: Vec<BarGroup>) -> Chart {
    Chart {
        title: "Time to render".to_owned(),
        note: "best of 3".to_owned(),
        groups,
    }
}

/// Compares with a file beside this one, or writes it if `KILN_UPDATE` is set.
#[track_caller]
fn check(name: &str, svg: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/chart")
        .join(name);
    if std::env::var_os("KILN_UPDATE").is_some() {
        fs::write(&path, svg).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        svg == expected,
        "set KILN_UPDATE=1 to accept the change of {name}:\n{svg}"
    );
}

#[test]
fn times_that_differ_much_are_on_a_logarithmic_scale() {
    use MeasuredProgram::{Kiln, Kpt, Kustomize};
    let chart = chart(vec![
        group(
            "1,000 files <with> names & labels",
            &[(Kiln, 0.035), (Kpt, 2.9), (Kustomize, 3.1)],
        ),
        group("start", &[(Kiln, 0.0012), (Kpt, 0.037)]),
    ]);
    check("logarithmic.svg", &chart.to_svg());
}

#[test]
fn times_that_differ_little_are_on_a_linear_scale() {
    use MeasuredProgram::{Kiln, Kpt};
    let chart = chart(vec![group("start", &[(Kiln, 0.010), (Kpt, 0.040)])]);
    check("linear.svg", &chart.to_svg());
}

#[test]
fn a_chart_without_times_is_empty() {
    let svg = chart(Vec::new()).to_svg();
    assert!(
        svg.starts_with("<svg ") && svg.ends_with("</svg>\n"),
        "{svg}"
    );
    assert!(!svg.contains("<rect"), "{svg}");
    assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
}

#[test]
fn bars_are_as_long_as_their_times() {
    let linear = Scale::of([1.0, 4.0].into_iter());
    let start = linear.x(0.0);
    let (one, four) = (linear.x(1.0) - start, linear.x(4.0) - start);
    assert!((four - 4.0 * one).abs() < 1e-9);
    let logarithmic = Scale::of([0.001, 1.0].into_iter());
    let steps = [0.001, 0.01, 0.1].map(|time| logarithmic.x(10.0 * time) - logarithmic.x(time));
    assert!((steps[0] - steps[1]).abs() < 1e-9 && (steps[1] - steps[2]).abs() < 1e-9);
}

#[test]
fn times_have_their_units() {
    let shown = [0.0, 0.00025, 0.001, 0.0012, 0.035, 0.9, 1.0, 2.94, 12.3].map(shown_time);
    let expected = [
        "0", "0.2 ms", "1 ms", "1.2 ms", "35 ms", "900 ms", "1 s", "2.9 s", "12 s",
    ];
    assert_eq!(shown, expected);
}
