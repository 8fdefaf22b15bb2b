//! Encoded statuses: every client can receive them.

use bytes::Bytes;
use http::{HeaderMap, Request};
use kiln_proto::failure::{self, MAX_ENCODED_MESSAGE, ROOM_METADATA};
use kiln_server::Words;
use tokio::net::TcpStream;

use crate::harness::{LIST, TestServer, request};
use crate::raw::{EVALUATE, message};

/// The default limit of gRPC's C core.
const C_CORE_LIMIT: usize = 8 * 1024;

/// The headers and trailers of an answer.
async fn answer(test_server: &TestServer, path: &str, body: Bytes) -> HeaderMap {
    let stream = TcpStream::connect(test_server.address).await;
    let stream = stream.expect("a connection");
    let (client, connection) = h2::client::handshake(stream).await.expect("a greeting");
    let connection = tokio::spawn(connection);
    let mut client = client.ready().await.expect("a client");
    let request = Request::post(format!("http://localhost{path}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(())
        .expect("a request");
    let (response, mut sender) = client.send_request(request, false).expect("a stream");
    sender.send_data(body, true).expect("data");
    let response = response.await.expect("an answer");
    let mut headers = response.headers().clone();
    let mut body = response.into_body();
    while let Some(data) = body.data().await {
        data.expect("data");
    }
    if let Some(trailers) = body.trailers().await.expect("trailers") {
        headers.extend(trailers);
    }
    connection.abort();
    headers
}

/// The size of headers as peers count it.
fn size(headers: &HeaderMap) -> usize {
    let sizes = headers.iter();
    let sizes = sizes.map(|(name, value)| name.as_str().len() + value.len() + 32);
    sizes.sum()
}

#[track_caller]
fn check(headers: &HeaderMap, code: &str, parts: &[&str]) {
    assert_eq!(headers["grpc-status"], code);
    let encoded = &headers["grpc-message"];
    assert!(encoded.len() <= MAX_ENCODED_MESSAGE, "{}", encoded.len());
    assert!(size(headers) < C_CORE_LIMIT, "{}", size(headers));
    let status = tonic::Status::from_header_map(headers).expect("a status");
    for part in parts {
        assert!(status.message().contains(part), "{part:?} in {status:?}");
    }
}

fn evaluation(image: &str, list: &str) -> Bytes {
    let request = request(image, list.to_owned()).into_inner();
    message(&prost::Message::encode_to_vec(&request)).into()
}

/// Prints much, with distinct first and last words.
const TALKS: &str =
    "cat; echo first words >&2; head -c 300000 /dev/zero | tr '\\0' ' ' >&2; echo last words >&2";

#[tokio::test]
async fn what_functions_print_fits() {
    for words in [Words::Runner, Words::Wrapper] {
        let test_server = TestServer::with(kiln_server::Options::default(), words).await;
        test_server.script("fails-loudly", &format!("{TALKS}; exit 1"));
        test_server.script("garbles", &format!("{TALKS}; printf '\\0'"));
        for image in ["fails-loudly", "garbles"] {
            let headers = answer(&test_server, EVALUATE, evaluation(image, LIST)).await;
            let parts = ["first words", "last words", "bytes omitted"];
            check(&headers, "13", &parts);
        }
    }
}

#[tokio::test]
async fn what_callers_send_fits() {
    let test_server = TestServer::new().await;
    let long = "\u{202e}é{".repeat(20_000);
    let headers = answer(&test_server, EVALUATE, evaluation(&long, LIST)).await;
    check(
        &headers,
        "5",
        &["not found", "evaluators asked: native, exec"],
    );
    let headers = answer(
        &test_server,
        EVALUATE,
        evaluation("tree", &format!("kind: {long}\n")),
    )
    .await;
    check(&headers, "3", &["cannot read the resource list"]);
    let path = format!("/{}/x", "?x".replace('?', "y%20").repeat(6_000));
    let headers = answer(&test_server, &path, Bytes::new()).await;
    check(&headers, "12", &["unknown service y%20x"]);
    // A reflection request for a symbol: field 4 of the message.
    let symbol = "s{".repeat(15_000);
    let mut asked = vec![0x22];
    let size = u32::try_from(symbol.len()).expect("a size");
    asked.extend([
        0x80 | (size & 0x7f) as u8,
        0x80 | (size >> 7 & 0x7f) as u8,
        (size >> 14) as u8,
    ]);
    asked.extend(symbol.as_bytes());
    let path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
    let headers = answer(&test_server, path, message(&asked).into()).await;
    check(&headers, "5", &["symbol 's{s{", "not found"]);
}

#[tokio::test]
async fn a_client_with_room_has_all_of_it() {
    let test_server = TestServer::new().await;
    test_server.script("fails-loudly", &format!("{TALKS}; exit 1"));
    let mut call = request("fails-loudly", LIST);
    call.metadata_mut().insert(ROOM_METADATA, 1_000_000.into());
    let answer = test_server.client().await.evaluate_function(call).await;
    let status = answer.expect_err("a failure");
    let failure = failure::from_status(&status).expect("details");
    assert_eq!(
        failure.stderr.len(),
        300_000 + "first words\nlast words\n".len()
    );
    let whole = failure::whole_message(&status);
    assert!(whole.len() > 100_000, "{}", whole.len());
    assert!(status.message().len() < MAX_ENCODED_MESSAGE);
}

/// A client of gRPC's C core. It prints the code and the text of the status.
const PYTHON_CLIENT: &str = r#"
import grpc, sys
channel = grpc.insecure_channel(sys.argv[1])
call = channel.unary_unary("/evaluator.FunctionEvaluator/EvaluateFunction")
try:
    call(open(sys.argv[2], "rb").read(), timeout=120)
    print("OK")
except grpc.RpcError as error:
    print(error.code().name, error.details())
"#;

/// `KILN_TEST_PYTHON` is a Python that has the package `grpcio`.
#[tokio::test]
#[expect(clippy::print_stderr, reason = "what is skipped is reported")]
async fn clients_of_the_c_core_receive_what_functions_print() {
    let Some(python) = std::env::var_os("KILN_TEST_PYTHON") else {
        eprintln!("skipped: KILN_TEST_PYTHON does not name a Python with grpcio");
        return;
    };
    let test_server = TestServer::new().await;
    test_server.script("fails-loudly", &format!("{TALKS}; exit 1"));
    let sent = test_server.path("request");
    let call = request("fails-loudly", LIST).into_inner();
    std::fs::write(&sent, prost::Message::encode_to_vec(&call)).expect("a file");
    let address = test_server.address.to_string();
    // Between its two limits the C core refuses at random.
    for _ in 0..5 {
        let mut command = std::process::Command::new(&python);
        command.args(["-c", PYTHON_CLIENT, &address]).arg(&sent);
        let output = tokio::task::spawn_blocking(move || command.output());
        let output = output.await.expect("a task").expect("Python");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let start =
            "INTERNAL Failed to execute function \"fails-loudly\": exit status 1 (first words\n";
        assert!(text.starts_with(start), "{text} {output:?}");
        assert!(
            text.contains("bytes omitted") && text.contains("last words"),
            "{text}"
        );
    }
}
