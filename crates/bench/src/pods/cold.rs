//! Calls without a pod: duration by step, compared with the same pod created by hand.
//!
//! A step ends when the API server reports it. The node reports in intervals, so two steps may be reported together.

use std::io::Write;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::cluster::{ObjectKind, Watch};
use super::{Bench, median};
use crate::runner::load::connect;

const ROUNDS: usize = 7;

/// Whether a pod has reached a step.
type IsDone = fn(&Value) -> bool;

/// The steps of a pod, and the condition of each.
const STEPS: [(&str, IsDone); 4] = [
    ("create", |_| true),
    ("schedule", |pod| is(pod, "PodScheduled")),
    ("start", |pod| {
        pod["status"]["containerStatuses"][0]["state"]["running"].is_object()
    }),
    ("ready", |pod| is(pod, "Ready")),
];

pub(super) fn run(bench: &Bench<'_>, out: &mut dyn Write) -> anyhow::Result<()> {
    let server = bench.start(&[
        "--pod-address-mode=clusterip",
        "--pod-ttl=1s",
        "--scan-interval=1s",
    ])?;
    write!(out, "{:25}", "seconds")?;
    for (step, _) in STEPS {
        write!(out, " {step:>8}")?;
    }
    writeln!(out, " {:>8} {:>8}", "dial", "all")?;
    bench.runtime.block_on(async {
        let runner = connect(server.address).await?;
        let mut watch = bench.cluster.watch_pods().await?;
        let [mut cold, mut bare] = [Rows::new("cold call"), Rows::new("same pod by hand")];
        for number in 0..ROUNDS {
            let began = Instant::now();
            let answered = async {
                bench.once(&runner).await?;
                anyhow::Ok(began.elapsed())
            };
            let (all, followed) = tokio::join!(answered, follow(&mut watch, began));
            let (mut steps, pod) = followed?;
            steps.push(all?.saturating_sub(steps.iter().sum()));
            cold.add(steps, out)?;
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            watch.until_gone(name).await?;

            let by_hand = by_hand(&pod["spec"], number);
            let began = Instant::now();
            let created = bench.cluster.create(ObjectKind::Pod, &by_hand);
            let (created, followed) = tokio::join!(created, follow(&mut watch, began));
            created?;
            let (steps, pod) = followed?;
            bare.add(steps, out)?;
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            bench.cluster.delete(ObjectKind::Pod, name).await?;
            watch.until_gone(name).await?;
        }
        let differences = cold.all().zip(bare.all());
        let differences = differences.map(|(cold, bare)| cold - bare).collect();
        cold.medians(out)?;
        bare.medians(out)?;
        writeln!(
            out,
            "a cold call takes {:.3} s longer than Kubernetes takes to make the same pod ready (median of {ROUNDS})",
            median(differences)
        )?;
        Ok(())
    })
}

/// The duration of each step of a new pod, and the pod at the end.
async fn follow(watch: &mut Watch, began: Instant) -> anyhow::Result<(Vec<Duration>, Value)> {
    let mut steps = Vec::new();
    let mut before = began;
    loop {
        let seen = watch.next().await?;
        while let Some((_, is_done)) = STEPS.get(steps.len())
            && is_done(&seen.pod)
        {
            steps.push(seen.at.saturating_duration_since(before));
            before = seen.at;
        }
        if steps.len() == STEPS.len() {
            return Ok((steps, seen.pod));
        }
    }
}

/// The times of one way, by pod.
struct Rows {
    name: &'static str,
    rows: Vec<Vec<f64>>,
}

impl Rows {
    fn new(name: &'static str) -> Rows {
        Rows {
            name,
            rows: Vec::new(),
        }
    }

    fn add(&mut self, steps: Vec<Duration>, out: &mut dyn Write) -> anyhow::Result<()> {
        let steps: Vec<f64> = steps.iter().map(Duration::as_secs_f64).collect();
        row(out, self.name, &steps, steps.iter().sum())?;
        self.rows.push(steps);
        Ok(())
    }

    /// Total time of each pod.
    fn all(&self) -> impl Iterator<Item = f64> {
        self.rows.iter().map(|row| row.iter().sum())
    }

    fn medians(&self, out: &mut dyn Write) -> anyhow::Result<()> {
        let width = self.rows.first().map_or(0, Vec::len);
        let steps = (0..width).map(|step| {
            let times = self.rows.iter().filter_map(|row| row.get(step).copied());
            median(times.collect())
        });
        let steps: Vec<f64> = steps.collect();
        let name = format!("{}, median", self.name);
        row(out, &name, &steps, median(self.all().collect()))
    }
}

fn row(out: &mut dyn Write, name: &str, steps: &[f64], all: f64) -> anyhow::Result<()> {
    write!(out, "{name:25}")?;
    for step in 0..=STEPS.len() {
        match steps.get(step) {
            Some(time) => write!(out, " {time:8.3}")?,
            None => write!(out, " {:>8}", "")?,
        }
    }
    writeln!(out, " {all:8.3}")?;
    Ok(())
}

/// The same pod under another name, as it was before it was scheduled.
fn by_hand(spec: &Value, number: usize) -> Value {
    let mut spec = spec.clone();
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("nodeName");
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": format!("by-hand-{number}")},
        "spec": spec,
    })
}

/// Whether a condition of a pod is true.
fn is(pod: &Value, condition: &str) -> bool {
    let conditions = pod["status"]["conditions"].as_array();
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|of| of["type"] == condition && of["status"] == "True")
}
