//! A client that writes arbitrary HTTP/2 frames.

use std::net::SocketAddr;

use bytes::Bytes;
use kiln_proto::evaluator::EvaluateFunctionRequest;
use prost::Message as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpSocket, TcpStream};

pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
pub(crate) const EVALUATE: &str = "/evaluator.FunctionEvaluator/EvaluateFunction";
pub(crate) const CHECK: &str = "/grpc.health.v1.Health/Check";
pub(crate) const WATCH: &str = "/grpc.health.v1.Health/Watch";

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RESET: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PING: u8 = 6;
pub(crate) const GO_AWAY: u8 = 7;
const CONTINUATION: u8 = 9;

/// The largest frame that a server accepts.
const MAX_FRAME: usize = 16 * 1024;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

/// A frame that was received.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Bytes,
}

pub(crate) struct Raw {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let size = u32::try_from(payload.len()).expect("a size").to_be_bytes();
    let mut frame = size[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The headers of a request.
pub(crate) fn headers(stream: u32, path: &str, flags: u8) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | flags, stream, &header_block(path))
}

/// The headers of a request with an additional one of `size` bytes.
pub(crate) fn large_headers(stream: u32, path: &str, size: usize) -> Vec<u8> {
    let mut block = header_block(path);
    literal(&mut block, "x-large", &"x".repeat(size));
    let (first, rest) = block.split_at(MAX_FRAME.min(block.len()));
    let mut frames = frame(HEADERS, 0, stream, first);
    let mut pieces = rest.chunks(MAX_FRAME).peekable();
    while let Some(piece) = pieces.next() {
        let flags = match pieces.peek() {
            Some(_) => 0,
            None => END_HEADERS,
        };
        frames.extend(frame(CONTINUATION, flags, stream, piece));
    }
    frames
}

fn header_block(path: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "localhost"),
        (":path", path),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ] {
        literal(&mut block, name, value);
    }
    block
}

/// A header without an index.
fn literal(block: &mut Vec<u8>, name: &str, value: &str) {
    block.push(0);
    for text in [name, value] {
        match text.len().checked_sub(127) {
            None => block.push(u8::try_from(text.len()).expect("a short text")),
            Some(mut rest) => {
                block.push(127);
                while rest >= 128 {
                    block.push(u8::try_from(rest % 128 + 128).expect("a byte"));
                    rest /= 128;
                }
                block.push(u8::try_from(rest).expect("a byte"));
            }
        }
        block.extend(text.as_bytes());
    }
}

/// A message with its head.
pub(crate) fn message(bytes: &[u8]) -> Vec<u8> {
    let size = u32::try_from(bytes.len()).expect("a size").to_be_bytes();
    [&[0][..], &size, bytes].concat()
}

/// A whole call.
pub(crate) fn call(stream: u32, image: &str, list: &str) -> Vec<u8> {
    let request = EvaluateFunctionRequest {
        resource_list: Bytes::copy_from_slice(list.as_bytes()),
        image: image.to_owned(),
    };
    let data = message(&request.encode_to_vec());
    let data = frame(DATA, END_STREAM, stream, &data);
    [headers(stream, EVALUATE, 0), data].concat()
}

/// A whole request with an empty message.
pub(crate) fn empty_call(stream: u32, path: &str) -> Vec<u8> {
    let data = frame(DATA, END_STREAM, stream, &message(b""));
    [headers(stream, path, 0), data].concat()
}

pub(crate) fn reset(stream: u32) -> Vec<u8> {
    frame(RESET, 0, stream, &8_u32.to_be_bytes())
}

impl Raw {
    /// A connection that has sent nothing.
    pub(crate) async fn silent(address: SocketAddr) -> Raw {
        Raw::over(TcpStream::connect(address).await.expect("a connection"))
    }

    fn over(stream: TcpStream) -> Raw {
        let (reader, writer) = stream.into_split();
        Raw {
            reader: BufReader::new(reader),
            writer,
        }
    }

    /// A connection with a preface.
    pub(crate) async fn connect(address: SocketAddr) -> Raw {
        let mut raw = Raw::silent(address).await;
        raw.greet().await;
        raw
    }

    /// A connection with a preface from another address of this machine.
    pub(crate) async fn connect_from(last: u8, address: SocketAddr) -> Raw {
        let socket = TcpSocket::new_v4().expect("a socket");
        let from = SocketAddr::from(([127, 0, 0, last], 0));
        socket.bind(from).expect("an address");
        let mut raw = Raw::over(socket.connect(address).await.expect("a connection"));
        raw.greet().await;
        raw
    }

    async fn greet(&mut self) {
        let greeting = [PREFACE, &frame(SETTINGS, 0, 0, b"")].concat();
        self.send(&greeting).await;
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        // The server may have closed the connection, which tests see when they read.
        let _ = self.writer.write_all(bytes).await;
    }

    /// The next frame; `None` at the end. Acknowledges settings.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.reader.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let size = u32::from_be_bytes([0, a, b, c]) as usize;
        let mut payload = vec![0; size];
        self.reader.read_exact(&mut payload).await.ok()?;
        if (kind, flags) == (SETTINGS, 0) {
            self.send(&frame(SETTINGS, 1, 0, b"")).await;
        }
        Some(Frame {
            kind,
            flags,
            stream: u32::from_be_bytes(stream),
            payload: payload.into(),
        })
    }

    /// Waits for a frame of a kind on a stream. The connection must not end before.
    pub(crate) async fn wait_for(&mut self, kind: u8, stream: u32) -> Frame {
        loop {
            let frame = self.next().await.expect("the connection ended");
            assert_ne!(frame.kind, GO_AWAY, "{frame:?}");
            if (frame.kind, frame.stream) == (kind, stream) {
                return frame;
            }
        }
    }

    /// Waits for the trailers of a response, and until the server has finished it.
    pub(crate) async fn end_of_answer(&mut self, stream: u32) {
        while self.wait_for(HEADERS, stream).await.flags & END_STREAM == 0 {}
        self.flush().await;
    }

    /// Waits until the server has read all that was sent.
    pub(crate) async fn flush(&mut self) {
        self.send(&frame(PING, 0, 0, b"received")).await;
        self.wait_for(PING, 0).await;
    }

    /// Waits for the end of the connection.
    pub(crate) async fn end(&mut self) {
        while self.next().await.is_some() {}
    }
}
