//! Calls with a ready pod: duration, and requests to the API server.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Duration;

use anyhow::{Context as _, bail};

use super::cluster::ObjectKind;
use super::{Bench, median, megabytes};
use crate::runner::load::{Client, at, connect};
use crate::runner::server::Server;

const CLIENTS: [usize; 2] = [1, 16];
/// Rounds of each of the two, alternately.
const ROUNDS: usize = 10;
const ROUND: Duration = Duration::from_secs(1);
/// Fewer calls prove nothing about requests to the API server.
const FEW: usize = 1_000;

/// The times of one way, by round.
#[derive(Default)]
struct Way {
    p50: Vec<f64>,
    p99: Vec<f64>,
    calls: usize,
    /// Processor time of the runner.
    cpu: f64,
}

/// Writes tables, and returns the ratio for one client.
pub(super) fn run(bench: &Bench<'_>, out: &mut dyn Write) -> anyhow::Result<f64> {
    let server = bench.start(&["--pod-address-mode=clusterip"])?;
    let (runner, wrapper) = bench.runtime.block_on(async {
        let runner = connect(server.address).await?;
        bench.once(&runner).await?;
        let services = bench.cluster.list(ObjectKind::Service).await?;
        let service = services.first().context("no service")?;
        let address = service["spec"]["clusterIP"].as_str();
        let port = &service["spec"]["ports"][0]["port"];
        let address = format!("{}:{port}", address.unwrap_or_default());
        let wrapper = connect(address.parse()?).await?;
        anyhow::Ok((runner, wrapper))
    })?;
    let before = bench.cluster.audit(&bench.args.audit_log)?;
    writeln!(
        out,
        "{:22} {:>7} {:>9} {:>8} {:>8} {:>14}",
        "warm calls", "clients", "calls/s", "p50 ms", "p99 ms", "runner CPU ms"
    )?;
    let mut ratios = Vec::new();
    let mut calls = 0;
    for clients in CLIENTS {
        let [mut through, mut past] = [Way::default(), Way::default()];
        for round in 0..=ROUNDS {
            let mut ways = [(&mut through, &runner), (&mut past, &wrapper)];
            if round % 2 == 1 {
                ways.reverse();
            }
            for (way, client) in ways {
                let measured = measure(bench, &server, client, clients)?;
                // The first round is a warm-up.
                if round > 0 {
                    way.add(measured)?;
                }
            }
        }
        calls += through.calls;
        let each = through.p50.iter().zip(&past.p50);
        let ratio = median(each.map(|(through, past)| through / past).collect());
        let overhead = median(through.p50.clone()) - median(past.p50.clone());
        for (name, way) in [("through the runner", through), ("to the wrapper", past)] {
            let rate = way.calls as f64 / (ROUND * ROUNDS as u32).as_secs_f64();
            let cpu = way.cpu / way.calls as f64;
            writeln!(
                out,
                "{name:22} {clients:7} {rate:9.0} {:8.3} {:8.3} {:14.3}",
                median(way.p50) * 1e3,
                median(way.p99) * 1e3,
                cpu * 1e3
            )?;
        }
        writeln!(
            out,
            "at p50 with {clients} clients: {:.3} ms longer through the runner, ratio {ratio:.2} (medians of {ROUNDS} rounds)",
            overhead * 1e3
        )?;
        ratios.push(ratio);
    }
    let asked = bench.cluster.requests(&before, &bench.args.user)?;
    write_requests(&asked, calls, out)?;
    writeln!(
        out,
        "runner after all calls: {:.1} MB resident, {:.1} MB at most",
        megabytes(server.resident()?),
        megabytes(server.peak()?)
    )?;
    ratios.first().copied().context("nothing was measured")
}

/// Times of calls, sorted, and the runner's processor time meanwhile.
fn measure(
    bench: &Bench<'_>,
    server: &Server,
    client: &Client,
    clients: usize,
) -> anyhow::Result<(Vec<f64>, f64)> {
    let cpu = server.cpu()?;
    let load = bench.load(clients);
    let mut times = bench.runtime.block_on(load.calls(client, ROUND))?;
    times.sort_by(f64::total_cmp);
    Ok((times, server.cpu()? - cpu))
}

impl Way {
    fn add(&mut self, (times, cpu): (Vec<f64>, f64)) -> anyhow::Result<()> {
        self.p50.push(at(&times, 0.5)?);
        self.p99.push(at(&times, 0.99)?);
        self.calls += times.len();
        self.cpu += cpu;
        Ok(())
    }
}

/// Periodic requests of the runner are named; all others belong to calls, and there must be none.
fn write_requests(
    asked: &BTreeMap<String, usize>,
    calls: usize,
    out: &mut dyn Write,
) -> anyhow::Result<()> {
    let by_clock = [
        ("update leases", "lease renewals"),
        ("patch leases", "lease renewals"),
        ("patch pods", "times of idle pods"),
        ("watch", "watches started again"),
    ];
    let name_of = |request: &str| {
        let found = by_clock
            .iter()
            .find(|(start, _)| request.starts_with(start));
        found.map(|(_, name)| *name)
    };
    let (clock, others): (Vec<_>, Vec<_>) = asked
        .iter()
        .partition(|(request, _)| name_of(request).is_some());
    let others: usize = others.iter().map(|(_, count)| **count).sum();
    let clock: Vec<String> = clock
        .iter()
        .map(|(request, count)| format!("{count} {} ({request})", name_of(request).unwrap_or("")))
        .collect();
    writeln!(
        out,
        "API requests for {calls} warm calls: {others}; by the clock meanwhile: {}",
        if clock.is_empty() {
            "none".to_owned()
        } else {
            clock.join(", ")
        }
    )?;
    if others > 0 {
        bail!("warm calls send requests to the API server: {asked:?}");
    }
    if calls < FEW {
        bail!("{calls} calls are too few");
    }
    Ok(())
}
