//! Pods that are called by the names of their services.
//!
//! The cluster has no DNS, so there is one here. It resolves every service to a port of this machine that forwards to
//! the pod and records the name. The runner has a `resolv.conf` that names it, in its own mount namespace.

use std::net::Ipv4Addr;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, UdpSocket};

use super::images;
use super::machine::Machine;
use super::runner::Runner;
use super::space::Space;

/// The port of wrappers.
const WRAPPER_PORT: u16 = 9446;

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_called_by_the_name_of_its_service() {
    let Some(machine) = Machine::get() else {
        return;
    };
    let space = Arc::new(Space::new(&machine, "dns"));
    let image = images::function(&machine, "dns");
    let here = address_of_our_own();
    let asked = answer_names(here).await;
    let passed_on = pass_on(here, &space).await;
    let command = space.runner_command(&["--pod-address-mode=dns"]);
    let runner = Runner::start(with_names_of(here, &space, &command)).await;
    runner.caller.call(&image, &[]).await.expect("a cold call");
    runner.caller.call(&image, &[]).await.expect("a warm call");

    let pods = space.until_ready(1);
    let (name, _) = pods.first_key_value().expect("a pod");
    let host = format!("{name}.{}.svc.cluster.local", space.pods);
    let asked = queries(&asked);
    assert!(asked.contains(&host), "{host} is not among {asked:?}");
    let passed_on = queries(&passed_on);
    assert!(passed_on.iter().eq([name]), "not by name: {passed_on:?}");
}

/// The recorded queries and calls, in order.
type Queries = Arc<Mutex<Vec<String>>>;

fn queries(queries: &Queries) -> Vec<String> {
    queries
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .clone()
}

fn record(queries: &Queries, what: String) {
    let mut queries = queries.lock().unwrap_or_else(PoisonError::into_inner);
    queries.push(what);
}

/// An unused address of this machine.
fn address_of_our_own() -> Ipv4Addr {
    let process = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, 53, process[2], process[3])
}

/// A DNS server that resolves every service to one address. The resolver of the C library uses no other port.
async fn answer_names(address: Ipv4Addr) -> Queries {
    let socket = UdpSocket::bind((address, 53)).await.expect("port 53");
    let asked = Queries::default();
    let names = Arc::clone(&asked);
    tokio::spawn(async move {
        let mut query = [0; 512];
        while let Ok((size, client)) = socket.recv_from(&mut query).await {
            let Some((name, kind, end)) = question(&query[..size]) else {
                continue;
            };
            let is_service = name.ends_with(".svc.cluster.local") && kind == ADDRESS;
            let answer = answer(&query[..end], is_service.then_some(address));
            record(&names, name);
            let _ = socket.send_to(&answer, client).await;
        }
    });
    asked
}

/// Forwards connections to the only pod, and records its name.
async fn pass_on(address: Ipv4Addr, space: &Arc<Space>) -> Queries {
    let listener = TcpListener::bind((address, WRAPPER_PORT)).await;
    let listener = listener.expect("a port");
    let passed = Queries::default();
    let (names, space) = (Arc::clone(&passed), Arc::clone(space));
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let (names, space) = (Arc::clone(&names), Arc::clone(&space));
            tokio::spawn(async move {
                let pods = tokio::task::spawn_blocking(move || space.objects("pods"));
                let pods = pods.await.expect("a list");
                let (name, pod) = pods.first_key_value().expect("a pod");
                record(&names, name.clone());
                let ip = pod["status"]["podIP"].as_str().expect("an address");
                let server = TcpStream::connect(format!("{ip}:{WRAPPER_PORT}")).await;
                let mut server = server.expect("a wrapper");
                let _ = copy_bidirectional(&mut client, &mut server).await;
            });
        }
    });
    passed
}

/// The same command with a DNS server.
fn with_names_of(address: Ipv4Addr, space: &Space, command: &Command) -> Command {
    let resolver = space.file("resolv.conf", &format!("nameserver {address}\n"));
    let mut inside = Command::new("unshare");
    inside
        .args(["--mount", "sh", "-c"])
        .arg("mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"")
        .arg(resolver)
        .arg(command.get_program())
        .args(command.get_args())
        .current_dir(space.directory.path());
    for (name, value) in command.get_envs() {
        inside.env(name, value.expect("variables that are set"));
    }
    inside
}

/// The type of an A query.
const ADDRESS: u16 = 1;
/// Bytes before the question.
const HEAD: usize = 12;

/// The name and the type of the query, and where it ends.
fn question(query: &[u8]) -> Option<(String, u16, usize)> {
    let mut labels = Vec::new();
    let mut at = HEAD;
    loop {
        let size = usize::from(*query.get(at)?);
        let label = query.get(at + 1..at + 1 + size)?;
        at += 1 + size;
        if label.is_empty() {
            break;
        }
        labels.push(String::from_utf8_lossy(label).into_owned());
    }
    let kind = query.get(at..at + 2)?.try_into().ok()?;
    Some((labels.join("."), u16::from_be_bytes(kind), at + 4))
}

/// The response to a query, which begins with it: the address, or none.
fn answer(question: &[u8], address: Option<Ipv4Addr>) -> Vec<u8> {
    let mut answer = question.to_vec();
    // A response, recursion desired and available, no error; one question, so many answers, nothing else.
    let head = [0x81, 0x80, 0, 1, 0, u8::from(address.is_some()), 0, 0, 0, 0];
    answer[2..HEAD].copy_from_slice(&head);
    if let Some(address) = address {
        // The name of the query, an A record of class IN, TTL 0, four bytes.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4]);
        answer.extend(address.octets());
    }
    answer
}
