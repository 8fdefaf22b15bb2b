//! Native functions of two function runners, measured alternately, so that other load on the machine affects both.

use std::io::Write;

use super::load::{Load, Measured};
use super::server::Server;
use super::{CLIENTS, COUNTED, NATIVE, SIZES, list};

/// Rounds per runner; the median is used.
const ROUNDS: usize = 5;

/// Measures both and writes the rows; the last line has the ratio of calls per second.
pub(super) fn compare(before: &Server, after: &Server, out: &mut dyn Write) -> anyhow::Result<()> {
    let mut counted = None;
    for resources in SIZES {
        for clients in CLIENTS {
            let load = Load {
                clients,
                image: NATIVE.to_owned(),
                list: list(resources),
            };
            let (mut of_before, mut of_after) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                of_before.push(load.run(before)?);
                of_after.push(load.run(after)?);
            }
            let (of_before, of_after) = (median(&of_before), median(&of_after));
            super::write_row(out, "before", NATIVE, &load, resources, &of_before)?;
            super::write_row(out, "after", NATIVE, &load, resources, &of_after)?;
            writeln!(
                out,
                "{:22} p50 {:+.3} ms, {:.0} % of the calls/s",
                "",
                (of_after.p50 - of_before.p50) * 1e3,
                of_after.rate / of_before.rate * 1e2
            )?;
            if (clients, resources) == COUNTED {
                counted = Some(of_after.rate / of_before.rate);
            }
        }
    }
    match counted {
        Some(ratio) => writeln!(out, "ratio={ratio:.2}")?,
        None => writeln!(out, "ratio=none")?,
    }
    Ok(())
}

/// The median of each number separately.
fn median(rounds: &[Measured]) -> Measured {
    let of = |number: fn(&Measured) -> f64| {
        let mut numbers: Vec<f64> = rounds.iter().map(number).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.get(numbers.len() / 2).copied().unwrap_or(f64::NAN)
    };
    Measured {
        rate: of(|it| it.rate),
        p50: of(|it| it.p50),
        p99: of(|it| it.p99),
        cpu: of(|it| it.cpu),
    }
}
