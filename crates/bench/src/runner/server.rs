//! A server in its own process: start time, memory and processor time.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::runtime::Runtime;
use tonic::Code;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;

const PATIENCE: Duration = Duration::from_secs(20);

/// A running server; it is killed when this value is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    pub(crate) started_in: Duration,
    pub(crate) resident_at_start: u64,
}

impl Server {
    /// Starts a program that listens on `--port`, and waits until it is serving.
    pub(crate) fn start(program: &Path, args: &[&str]) -> anyhow::Result<Server> {
        // Free now, and very likely still free in a moment.
        let address = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
        let started = Instant::now();
        let child = Command::new(program)
            .args(args)
            .args(["--port", &address.port().to_string()])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let mut server = Server {
            child,
            address,
            started_in: Duration::ZERO,
            resident_at_start: 0,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        while !is_serving(&runtime, address) {
            if let Some(status) = server.child.try_wait()? {
                bail!("{} ended with {status}", program.display());
            }
            if started.elapsed() > PATIENCE {
                bail!("{} does not serve", program.display());
            }
        }
        server.started_in = started.elapsed();
        server.resident_at_start = server.resident()?;
        Ok(server)
    }

    /// Resident bytes.
    pub(crate) fn resident(&self) -> anyhow::Result<u64> {
        self.memory("VmRSS:")
    }

    /// Peak of resident bytes.
    pub(crate) fn peak(&self) -> anyhow::Result<u64> {
        self.memory("VmHWM:")
    }

    fn memory(&self, name: &str) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let kilobytes = line.and_then(|line| line.split_whitespace().next());
        let kilobytes: u64 = kilobytes.context("no size in memory")?.parse()?;
        Ok(kilobytes * 1024)
    }

    /// Seconds of processor time until now, including programs that it has run and its running child processes.
    pub(crate) fn cpu(&self) -> anyhow::Result<f64> {
        let mut ticks = ticks(self.child.id()).context("no times")?;
        for child in children(self.child.id())? {
            // The process may have ended meanwhile.
            ticks += self::ticks(child).unwrap_or(0);
        }
        let per_second = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK)?;
        let per_second = per_second.context("no ticks")?;
        Ok(ticks as f64 / per_second as f64)
    }
}

/// The time of a process and of its reaped children.
fn ticks(process: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(") ")?;
    // From field 14 on: its own time and that of its children, each in user and kernel mode.
    let ticks = fields.split_whitespace().skip(11).take(4);
    ticks.map(|text| text.parse::<u64>().ok()).sum()
}

/// The child processes of all threads of a process.
fn children(process: u32) -> anyhow::Result<Vec<u32>> {
    let threads = fs::read_dir(format!("/proc/{process}/task"))?;
    let children = threads.flatten().map(|thread| {
        // A thread may end at any time.
        fs::read_to_string(thread.path().join("children")).unwrap_or_default()
    });
    let children: String = children.collect();
    let ids = children.split_whitespace().map(str::parse);
    Ok(ids.collect::<Result<_, _>>()?)
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether functions can be run. The runner in Go knows only the health of the whole server.
fn is_serving(runtime: &Runtime, address: SocketAddr) -> bool {
    let asked: anyhow::Result<i32> = runtime.block_on(async {
        let channel = Endpoint::from_shared(format!("http://{address}"))?
            .connect()
            .await?;
        let mut client = HealthClient::new(channel);
        let answer = match client.check(of_service(kiln_proto::SERVICE)).await {
            Err(status) if status.code() == Code::NotFound => client.check(of_service("")).await,
            answer => answer,
        };
        Ok(answer?.into_inner().status)
    });
    asked.is_ok_and(|status| status == ServingStatus::Serving as i32)
}

fn of_service(service: &str) -> HealthCheckRequest {
    HealthCheckRequest {
        service: service.to_owned(),
    }
}
