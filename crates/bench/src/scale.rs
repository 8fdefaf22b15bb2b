//! `bench scale`: clusters of 100 to 10,000 pods in virtual time, and what a replica takes for each pod.
//!
//! The replicas are kiln's: pools, cluster view and leases. API server, pods and callers are simulated, so the counts are the
//! same in every run with the same seed; the time of decisions and the memory are measured.

use std::fs;
use std::io::Write;
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

use anyhow::Context;
use kiln_pods::simulation::{
    ApiRequest, MeasuredReport, ScaleOptions, ScaleReport, replica_with_pods, simulate,
    time_warm_calls,
};

/// Replicas in the clusters; each has about a hundred pods.
const REPLICAS: [usize; 3] = [1, 10, 100];
const IMAGES: usize = 200;
const CALLERS_PER_REPLICA: usize = 5;
const IMAGES_PER_CALLER: usize = 20;
const MAX_PODS: NonZeroUsize = NonZeroUsize::new(4).unwrap();

/// Pods of the replicas that are measured alone, and calls of each.
const PODS: [usize; 3] = [100, 1_000, 10_000];
const WARM_CALLS: usize = 200_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Calls of the largest cluster; smaller ones get as many per replica.
    #[arg(long, default_value_t = 10_000_000)]
    calls: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    let largest = REPLICAS.into_iter().max().unwrap_or(1);
    for replicas in REPLICAS {
        let options = ScaleOptions {
            seed: args.seed,
            images: IMAGES,
            replicas,
            callers: CALLERS_PER_REPLICA * replicas,
            images_per_caller: IMAGES_PER_CALLER,
            max_pods: MAX_PODS,
            calls: args.calls * replicas as u64 / largest as u64,
            dying: replicas * 3 / 10,
            cut_off: replicas / 10,
        };
        let start = Instant::now();
        let measured = simulate(&options);
        write_report(out, &options, &measured, start.elapsed())?;
    }
    writeln!(
        out,
        "one replica            pods     bytes/pod  us/warm decision"
    )?;
    for pods in PODS {
        for (what, owned) in [("knows", 0), ("owns", pods)] {
            let before = resident()?;
            let replica = replica_with_pods(pods, owned);
            let bytes = resident()?.saturating_sub(before) as f64 / pods as f64;
            drop(replica);
            let time = match owned {
                0 => String::new(),
                _ => {
                    let time = time_warm_calls(pods, WARM_CALLS);
                    format!("{:.2}", time.as_secs_f64() * 1e6 / (2 * WARM_CALLS) as f64)
                }
            };
            writeln!(out, "{what:20} {pods:>8}  {bytes:>12.0}  {time:>16}")?;
        }
    }
    Ok(())
}

fn write_report(
    out: &mut dyn Write,
    options: &ScaleOptions,
    measured: &MeasuredReport,
    wall: Duration,
) -> anyhow::Result<()> {
    let MeasuredReport { report, deciding } = measured;
    let ScaleReport {
        virtual_time,
        calls,
        decisions,
        ..
    } = report;
    let count = |request: ApiRequest| report.requests.get(&request).copied().unwrap_or_default();
    let seconds = Duration::as_secs_f64;
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    writeln!(
        out,
        "{} replicas, {} pods at most, {} images, {calls} calls in {:.0} virtual seconds ({:.0} s)",
        options.replicas,
        report.most_pods,
        options.images,
        seconds(virtual_time),
        seconds(&wall),
    )?;
    writeln!(
        out,
        "  decisions: {decisions}, {:.2} us each",
        seconds(deciding) * 1e6 / *decisions as f64
    )?;
    let each: Vec<String> = report
        .requests
        .iter()
        .map(|(request, count)| format!("{request:?} {count}"))
        .collect();
    writeln!(
        out,
        "  API requests: {} in the median minute, {} in the busiest, {} refused (429); {}",
        report.median_minute,
        report.busiest_minute,
        report.refused,
        each.join(", ")
    )?;
    writeln!(
        out,
        "  mean wait of an image: {:.1} ms at least, {:.1} ms at most; longest wait of a call: {:.0} ms",
        millis(report.shortest_wait),
        millis(report.longest_wait),
        millis(report.longest_single_wait),
    )?;
    writeln!(
        out,
        "  {} replicas died, {} orphans: an owner after {:.1} s (median), {:.1} s (longest), {} never; {} adoptions tried for {}",
        options.dying,
        report.orphans,
        seconds(&report.median_adoption),
        seconds(&report.longest_adoption),
        report.never_adopted,
        count(ApiRequest::AdoptPod),
        count(ApiRequest::AdoptService),
    )?;
    writeln!(
        out,
        "  calls: {} repeated because their replica died, {} failed because their pod died, {} because no pod could be created in time, {} lost with a living pod",
        report.repeated, report.died_with_pod, report.without_pod, report.lost
    )?;
    Ok(())
}

/// Resident bytes of this process.
fn resident() -> anyhow::Result<u64> {
    let text = fs::read_to_string("/proc/self/statm")?;
    let pages = text.split_whitespace().nth(1).context("no size")?;
    let page = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE)?;
    Ok(pages.parse::<u64>()? * u64::try_from(page.unwrap_or(4096))?)
}
