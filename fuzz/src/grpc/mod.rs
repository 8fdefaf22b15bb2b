//! Clients of the service.

mod frames;

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Duration;

use kiln_runtime::{
    Evaluator, EvaluatorChain, FindError, Found, FunctionSpec, Input, Outcome, Output, RunContext,
    RunError, Runner,
};
use kiln_server::fuzzing::MemoryServer;
use kiln_server::{Options, Words};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::bounded;
use frames::{DATA, PREFACE, call};

/// What one client may take, and what all that have gone may leave behind.
const MAX_BYTES: usize = 24 << 20;
const MAX_LEFT: usize = 16 << 20;

/// A client that has sent all it sends, and answers no probe, is gone after so long. Time passes whenever nothing else
/// happens.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Bits of the first byte.
const IS_RAW: u8 = 1;
const CLOSES: u8 = 2;
const DOES_NOT_READ: u8 = 4;
const SENDS_LITTLE_AT_ONCE: u8 = 8;

struct Setup {
    runtime: tokio::runtime::Runtime,
    server: MemoryServer,
    in_use: usize,
}

impl Setup {
    fn new() -> Setup {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build();
        let runtime = runtime.expect("a runtime");
        let evaluators = EvaluatorChain::new(vec![("native", Arc::new(Echo))]);
        let options = Options {
            words: Words::Wrapper,
            max_message_size: 1 << 20,
            max_held_bytes: 4 << 20,
            evaluation_timeout: None,
            ..Options::default()
        };
        let server = MemoryServer::new(evaluators, options);
        // What is made once is not counted for any input.
        runtime.block_on(be_served(&server));
        Setup {
            runtime,
            server,
            in_use: bounded::in_use(),
        }
    }
}

/// Whatever a client sends, its connection ends, what it takes is bounded and given back, and other clients are served.
///
/// The first byte says how the client behaves, and the rest what it sends: bytes as they are, or instructions ([`frames`]).
pub fn grpc_request(input: &[u8]) {
    thread_local! {
        static SETUP: OnceCell<Setup> = const { OnceCell::new() };
    }
    let Some((behaviour, rest)) = input.split_first() else {
        return;
    };
    let sent = match behaviour & IS_RAW {
        0 => frames::follow(rest),
        _ => [PREFACE, rest].concat(),
    };
    SETUP.with(|setup| {
        let setup = setup.get_or_init(Setup::new);
        bounded::run(MAX_BYTES, || {
            setup.runtime.block_on(async {
                let attack = attack(&setup.server, *behaviour, &sent);
                let ended = tokio::time::timeout(PATIENCE, attack).await;
                ended.expect("the connection ends");
                be_served(&setup.server).await;
            });
        });
        let left = bounded::in_use().saturating_sub(setup.in_use);
        assert!(left < MAX_LEFT, "{left} bytes are still in use");
    });
}

/// Sends everything and waits until the server closes the connection.
async fn attack(server: &MemoryServer, behaviour: u8, sent: &[u8]) {
    let (mut reader, mut writer) = tokio::io::split(server.connect());
    let send = async {
        let at_once = match behaviour & SENDS_LITTLE_AT_ONCE {
            0 => usize::MAX,
            _ => 97,
        };
        for piece in sent.chunks(at_once) {
            if writer.write_all(piece).await.is_err() {
                return;
            }
            tokio::task::yield_now().await;
        }
        if behaviour & CLOSES != 0 {
            let _ = writer.shutdown().await;
        }
    };
    if behaviour & DOES_NOT_READ == 0 {
        let read = async {
            let mut buffer = [0; 4096];
            while let Ok(1..) = reader.read(&mut buffer).await {}
        };
        tokio::join!(send, read);
        return;
    }
    send.await;
    while !is_closed(&mut reader).await {}
}

/// Lets time pass, and looks whether the other end is gone. Nothing is read before.
async fn is_closed(reader: &mut (impl tokio::io::AsyncRead + Unpin)) -> bool {
    tokio::time::sleep(PATIENCE / 3).await;
    let mut buffer = [0; 4096];
    loop {
        match tokio::time::timeout(Duration::from_secs(1), reader.read(&mut buffer)).await {
            Ok(Ok(1..)) => {}
            Ok(_) => return true,
            Err(_) => return false,
        }
    }
}

/// A client that calls a function and gets its answer.
async fn be_served(server: &MemoryServer) {
    let mut client = server.connect();
    let list = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n";
    let request = [
        PREFACE,
        &frames::settings(),
        &call(1, "echo", list.as_bytes()),
    ]
    .concat();
    client.write_all(&request).await.expect("a connection");
    loop {
        let mut head = [0; 9];
        client.read_exact(&mut head).await.expect("an answer");
        let [a, b, c, kind, ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        client.read_exact(&mut payload).await.expect("an answer");
        if kind == DATA {
            let found = payload
                .windows(list.len())
                .any(|part| part == list.as_bytes());
            assert!(found, "{payload:?}");
            return;
        }
    }
}

/// One function, which returns the list that it gets.
struct Echo;

impl Evaluator for Echo {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        match function.name() {
            "echo" => Ok(Found::blocking(Echo)),
            _ => Err(FindError::not_found(function)),
        }
    }
}

impl Runner for Echo {
    fn run(&self, input: &Input<'_>, _: &RunContext) -> Result<Outcome, RunError> {
        Ok(Outcome {
            exit_code: 0,
            signal: None,
            output: Output::Wire(input.wire().to_owned().into()),
            stderr: Vec::new(),
            elapsed: Duration::ZERO,
            identity: None,
            is_cached: false,
        })
    }

    fn is_native(&self) -> bool {
        true
    }
}
