//! Frames of HTTP/2, made of short instructions so that most inputs get past the first frame.

use kiln_proto::evaluator::EvaluateFunctionRequest;
use prost::Message as _;

pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub(super) const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

const EVALUATE: &str = "/evaluator.FunctionEvaluator/EvaluateFunction";
const PATHS: [&str; 6] = [
    EVALUATE,
    "/grpc.health.v1.Health/Check",
    "/grpc.health.v1.Health/Watch",
    "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
    "/evaluator.FunctionEvaluator/Other",
    "",
];

const IMAGES: [&str; 3] = ["echo", "unknown", ""];

/// Headers that a request may have besides those that it needs.
const HEADERS_TOO: [(&str, &str); 12] = [
    ("content-type", "application/grpc"),
    ("content-type", "application/grpc+proto"),
    ("content-type", "text/html"),
    ("grpc-timeout", "1n"),
    ("grpc-timeout", "99999999H"),
    ("grpc-timeout", "-1S"),
    ("grpc-encoding", "gzip"),
    ("grpc-accept-encoding", "gzip,identity"),
    ("x-request-id", "\u{202e}id"),
    ("content-length", "3"),
    ("te", "gzip"),
    ("connection", "close"),
];

/// How large the result may be. Instructions can repeat each other.
const MAX_BYTES: usize = 2 << 20;

/// The bytes that a client sends who follows the instructions.
pub(super) fn follow(instructions: &[u8]) -> Vec<u8> {
    let mut sent = [PREFACE, &settings()].concat();
    let mut instructions = Instructions(instructions);
    let mut stream = 1;
    let mut last = Vec::new();
    while let Some(instruction) = instructions.byte() {
        if sent.len() > MAX_BYTES {
            break;
        }
        let flags = instruction & (END_STREAM | END_HEADERS);
        last = match instruction >> 3 & 15 {
            // A new stream.
            0 | 1 => {
                stream += 2;
                let path = PATHS[instructions.choose(PATHS.len())];
                let mut block = request_headers(path);
                for _ in 0..instructions.choose(4) {
                    let (name, value) = HEADERS_TOO[instructions.choose(HEADERS_TOO.len())];
                    literal(&mut block, name, value.as_bytes());
                }
                frame(HEADERS, flags | END_HEADERS, stream, &block)
            }
            // A new stream with headers that are not whole, or not headers.
            2 => {
                stream += 2;
                let mut block = request_headers(EVALUATE);
                block.extend(instructions.bytes());
                frame(HEADERS, flags, stream, &block)
            }
            3 => frame(CONTINUATION, flags, stream, instructions.bytes()),
            // A call, whole or not.
            4 | 5 => {
                stream += 2;
                let image = IMAGES[instructions.choose(IMAGES.len())];
                call(stream, image, instructions.bytes())
            }
            // A message that says what it likes about itself.
            6 => {
                let mut data = vec![instructions.byte().unwrap_or(0)];
                let announced = instructions.number();
                let body = instructions.bytes();
                let size = match announced {
                    0 => u32::try_from(body.len()).unwrap_or(u32::MAX),
                    announced => announced,
                };
                data.extend(size.to_be_bytes());
                data.extend(body);
                frame(DATA, flags & END_STREAM, stream, &data)
            }
            7 => frame(DATA, flags & END_STREAM, stream, instructions.bytes()),
            8 => frame(RESET, 0, stream, &8_u32.to_be_bytes()),
            9 => {
                let on = [0, stream][instructions.choose(2)];
                frame(WINDOW_UPDATE, 0, on, &instructions.number().to_be_bytes())
            }
            10 => {
                let name = (instructions.choose(8) as u16).to_be_bytes();
                let value = instructions.number().to_be_bytes();
                frame(SETTINGS, 0, 0, &[&name[..], &value].concat())
            }
            11 => frame(PING, flags & 1, 0, b"01234567"),
            // Trailers.
            12 => {
                let mut block = Vec::new();
                literal(&mut block, "trailer", instructions.bytes());
                frame(HEADERS, END_HEADERS | END_STREAM, stream, &block)
            }
            // Any frame on any stream.
            13 => {
                let kind = instructions.byte().unwrap_or(0);
                let flags = instructions.byte().unwrap_or(0);
                frame(kind, flags, instructions.number(), instructions.bytes())
            }
            // A stream to go on with.
            14 => {
                stream = u32::from(instructions.byte().unwrap_or(1));
                Vec::new()
            }
            // The same once more, and more often.
            _ => {
                let count = usize::from(instructions.byte().unwrap_or(0));
                let count = count.min(MAX_BYTES / last.len().max(1));
                sent.extend(last.repeat(count));
                last
            }
        };
        sent.extend(&last);
    }
    sent
}

/// A frame of settings without any.
pub(super) fn settings() -> Vec<u8> {
    frame(SETTINGS, 0, 0, b"")
}

/// A whole call.
pub(super) fn call(stream: u32, image: &str, list: &[u8]) -> Vec<u8> {
    let request = EvaluateFunctionRequest {
        resource_list: list.to_vec().into(),
        image: image.to_owned(),
    };
    let request = request.encode_to_vec();
    let size = u32::try_from(request.len()).unwrap_or(u32::MAX);
    let data = [&[0][..], &size.to_be_bytes(), &request].concat();
    let headers = frame(HEADERS, END_HEADERS, stream, &request_headers(EVALUATE));
    [headers, frame(DATA, END_STREAM, stream, &data)].concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let size = u32::try_from(payload.len())
        .unwrap_or(u32::MAX)
        .to_be_bytes();
    let mut frame = size[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

fn request_headers(path: &str) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in [
        (":method", "POST"),
        (":scheme", "http"),
        (":authority", "localhost"),
        (":path", path),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ] {
        literal(&mut block, name, value.as_bytes());
    }
    block
}

/// A header without an index. Longer values are cut.
fn literal(block: &mut Vec<u8>, name: &str, value: &[u8]) {
    block.push(0);
    for text in [name.as_bytes(), value] {
        let text = &text[..text.len().min(126)];
        block.push(text.len() as u8);
        block.extend(text);
    }
}

/// Instructions that have not been followed.
struct Instructions<'a>(&'a [u8]);

impl<'a> Instructions<'a> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn choose(&mut self, count: usize) -> usize {
        usize::from(self.byte().unwrap_or(0)) % count
    }

    fn number(&mut self) -> u32 {
        let mut bytes = [0; 4];
        for byte in &mut bytes {
            *byte = self.byte().unwrap_or(0);
        }
        u32::from_be_bytes(bytes)
    }

    /// So many bytes as the first says, times eight if it is large, or all that are left.
    fn bytes(&mut self) -> &'a [u8] {
        let size = match self.byte().unwrap_or(0) {
            size @ ..128 => usize::from(size),
            size => usize::from(size - 128) * 8,
        };
        let (bytes, rest) = self.0.split_at(size.min(self.0.len()));
        self.0 = rest;
        bytes
    }
}
