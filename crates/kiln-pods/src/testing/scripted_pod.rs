//! A pod for tests with scripted behaviour, down to HTTP/2 frames.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use kiln_proto::client::EvaluatorClient;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use crate::connection::address::{AddressMode, PodAddress};
use crate::connection::connect;

/// How a pod handles a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PodAction {
    /// Responds with a resource list.
    Answer(&'static str),
    /// Responds with an empty list, and announces the largest message that it accepts.
    AnswerWithLimit(&'static str),
    /// Resets the stream with an HTTP/2 error code.
    Reset(u32),
    /// Sends GOAWAY without having handled the call.
    GoAwayBefore,
    /// Sends GOAWAY including this call, and closes the connection.
    GoAwayAfter,
    HangUp,
}

pub(crate) const REFUSED_STREAM: u32 = 7;

const PREFACE: usize = 24;
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GO_AWAY: u8 = 7;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// Starts a pod and connects to it. Connections share the script.
pub(crate) async fn pod(does: impl IntoIterator<Item = PodAction>) -> EvaluatorClient {
    let (address, _) = pod_at("127.0.0.1:0", does).await;
    let address = address.to_string();
    let connected = connect(&address_at(&address), 1 << 20, |_| ()).await;
    connected.unwrap().client
}

/// The remaining actions of a pod.
pub(crate) type Script = Arc<Mutex<VecDeque<PodAction>>>;

/// Starts a pod at an address; returns the actual address.
pub(crate) async fn pod_at(
    address: &str,
    does: impl IntoIterator<Item = PodAction>,
) -> (SocketAddr, Script) {
    let listener = TcpListener::bind(address).await.unwrap();
    let address = listener.local_addr().unwrap();
    let script: Script = Arc::new(Mutex::new(does.into_iter().collect()));
    let left = Arc::clone(&script);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, Arc::clone(&script)));
        }
    });
    (address, left)
}

/// An address with the given host and port.
pub(crate) fn address_at(host_port: &str) -> PodAddress {
    PodAddress {
        host_port: host_port.to_owned(),
        ..PodAddress::new(AddressMode::PodIp, "pod", "fns", "127.0.0.1", None)
    }
}

async fn serve(mut stream: TcpStream, script: Script) -> io::Result<()> {
    stream.read_exact(&mut [0; PREFACE]).await?;
    stream.write_all(&frame(SETTINGS, 0, 0, &[])).await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, id @ ..] = head;
        let mut body = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        stream.read_exact(&mut body).await?;
        let id = u32::from_be_bytes(id);
        match kind {
            SETTINGS if flags & ACK == 0 => {
                stream.write_all(&frame(SETTINGS, ACK, 0, &[])).await?;
            }
            PING if flags & ACK == 0 => stream.write_all(&frame(PING, ACK, 0, &body)).await?,
            DATA | HEADERS if flags & END_STREAM != 0 => {
                let does = script.lock().unwrap().pop_front();
                let does = does.unwrap_or(PodAction::HangUp);
                stream.write_all(&response(does, id)).await?;
                if let PodAction::HangUp | PodAction::GoAwayAfter = does {
                    return stream.shutdown().await;
                }
            }
            _ => {}
        }
    }
}

fn response(does: PodAction, id: u32) -> Vec<u8> {
    let go_away = |last: u32| frame(GO_AWAY, 0, 0, &[last.to_be_bytes(), [0; 4]].concat());
    match does {
        PodAction::Reset(code) => frame(RST_STREAM, 0, id, &code.to_be_bytes()),
        PodAction::GoAwayBefore => go_away(id.saturating_sub(2)),
        PodAction::GoAwayAfter => go_away(id),
        PodAction::HangUp => Vec::new(),
        PodAction::Answer(list) => answer(id, list, &[]),
        PodAction::AnswerWithLimit(limit) => answer(id, "", &header("kiln-max-message", limit)),
    }
}

fn answer(id: u32, list: &str, more: &[u8]) -> Vec<u8> {
    // Status 200 has an index in HPACK's static table; other headers are literals.
    let head = [
        &[0x88][..],
        &header("content-type", "application/grpc"),
        more,
    ]
    .concat();
    let message = [&[0x0a, length(list)], list.as_bytes()].concat();
    let size = u32::try_from(message.len()).unwrap().to_be_bytes();
    let data = [&[0][..], &size, &message].concat();
    let trailers = header("grpc-status", "0");
    [
        frame(HEADERS, END_HEADERS, id, &head),
        frame(DATA, 0, id, &data),
        frame(HEADERS, END_HEADERS | END_STREAM, id, &trailers),
    ]
    .concat()
}

fn frame(kind: u8, flags: u8, id: u32, body: &[u8]) -> Vec<u8> {
    let [_, size @ ..] = u32::try_from(body.len()).unwrap().to_be_bytes();
    [&size[..], &[kind, flags], &id.to_be_bytes(), body].concat()
}

fn header(name: &str, value: &str) -> Vec<u8> {
    let name = [&[0, length(name)], name.as_bytes()].concat();
    [&name[..], &[length(value)], value.as_bytes()].concat()
}

/// All texts are short enough for a one-byte length.
fn length(text: &str) -> u8 {
    let length = u8::try_from(text.len()).unwrap();
    assert!(length < 127, "{text:?} is too long");
    length
}
