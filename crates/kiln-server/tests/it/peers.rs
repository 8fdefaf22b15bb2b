//! What kiln programs announce to each other: limits of messages, and gzip.

use bytes::Bytes;
use kiln_proto::client::{CallError, EvaluatorClient, TooLarge};
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_proto::peer::{MessageLimits, gzip};
use kiln_server::{Options, Words};
use prost::Message as _;
use tonic::metadata::MetadataMap;
use tonic::{Code, Response, Status};

use crate::harness::{LIST, TestServer, request};
use crate::raw::{EVALUATE, message};

fn limits(bytes: usize) -> Options {
    Options {
        max_message_size: bytes,
        ..Options::default()
    }
}

/// A list of about `size` bytes.
fn list(size: usize) -> String {
    format!(
        "{LIST}#{}\n",
        "x".repeat(size.saturating_sub(LIST.len() + 2))
    )
}

fn call(image: &str, list: impl Into<Bytes>) -> EvaluateFunctionRequest {
    request(image, list).into_inner()
}

async fn client(test_server: &TestServer, limit: usize) -> EvaluatorClient {
    EvaluatorClient::new(test_server.channel().await, MessageLimits::new(limit))
}

async fn evaluate(
    client: &EvaluatorClient,
    message: EvaluateFunctionRequest,
) -> Result<EvaluateFunctionResponse, CallError> {
    let answer = client.evaluate(message, MetadataMap::new()).await;
    answer.map(Response::into_inner)
}

const DEFAULT: usize = kiln_proto::DEFAULT_MAX_MESSAGE_SIZE;

#[tokio::test]
async fn every_answer_announces_the_limit_and_gzip() {
    let test_server = TestServer::with(limits(5000), Words::Runner).await;
    let mut porch = test_server.client().await;
    let answers = [
        porch.evaluate_function(request("tree", LIST)).await,
        porch.evaluate_function(request("unknown", LIST)).await,
        porch.evaluate_function(request("tree", list(9000))).await,
    ];
    for answer in answers {
        let metadata = match &answer {
            Ok(response) => response.metadata(),
            Err(status) => status.metadata(),
        };
        let text = |name| metadata.get(name).map(|value| value.to_str().unwrap());
        assert_eq!(text("kiln-max-message"), Some("5000"), "{answer:?}");
        assert_eq!(text("grpc-accept-encoding"), Some("gzip"), "{answer:?}");
    }
    let health = client(&test_server, DEFAULT).await.check_health().await;
    assert_eq!(health.unwrap().get("kiln-max-message").unwrap(), "5000");
}

#[tokio::test]
async fn a_known_limit_is_not_exceeded_by_a_byte() {
    let test_server = TestServer::with(limits(5000), Words::Runner).await;
    test_server.script("counts", "echo >> \"$(dirname \"$0\")/calls\"; cat");
    let client = client(&test_server, DEFAULT).await;
    let of_size = |size: usize| {
        let overhead = call("counts", list(size)).encoded_len() - size;
        call("counts", list(size - overhead))
    };
    assert_eq!(of_size(5000).encoded_len(), 5000);
    evaluate(&client, of_size(5000)).await.expect("fits");
    let error = evaluate(&client, of_size(5001))
        .await
        .expect_err("does not");
    let CallError::TooLarge(too_large) = error else {
        panic!("was sent: {error:?}");
    };
    let expected = TooLarge {
        size: 5001,
        limit: 5000,
        announced: Some(5000),
    };
    assert_eq!(too_large, expected);
    let calls = std::fs::read_to_string(test_server.path("calls")).unwrap();
    assert_eq!(calls.lines().count(), 1);
}

#[tokio::test]
async fn kiln_programs_exchange_more_than_porch_would_accept() {
    let test_server = TestServer::new().await;
    test_server.script("cat", "cat");
    let large = list(10 << 20);
    // The first call already: the client asks for the limit before.
    let client = client(&test_server, DEFAULT).await;
    let answer = evaluate(&client, call("cat", large.clone())).await;
    assert_eq!(answer.expect("a list").resource_list, large);
    let status = test_server.call("cat", large).await.expect_err("as Porch");
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(
        status
            .message()
            .contains("more than the limit of 6291456 bytes")
    );
}

#[tokio::test]
async fn an_answer_that_the_caller_would_refuse_is_not_sent() {
    let test_server = TestServer::new().await;
    test_server.script("grows", "cat; head -c 5000 /dev/zero | tr '\\0' '#'");
    test_server.script("talks", "cat; head -c 9000 /dev/zero | tr '\\0' 'x' >&2");
    let client = client(&test_server, 4000).await;
    let error = evaluate(&client, call("grows", LIST))
        .await
        .expect_err("too large");
    let CallError::Status(status) = error else {
        panic!("{error:?}");
    };
    assert_eq!(status.code(), Code::ResourceExhausted);
    let text = status.message();
    assert!(
        text.contains("more than the 4000 bytes that the caller accepts"),
        "{text}"
    );
    assert!(text.contains("--runner-max-message-size"), "{text}");
    let answer = evaluate(&client, call("talks", LIST))
        .await
        .expect("a list");
    assert_eq!(answer.resource_list, LIST);
    assert!(answer.encoded_len() <= 4000 && answer.log.len() > 3000);
}

#[tokio::test]
async fn the_first_call_is_plain_and_later_ones_compressed() {
    let test_server = TestServer::new().await;
    test_server.script("cat", "cat");
    let client = client(&test_server, DEFAULT).await;
    for _ in 0..3 {
        let large = list(1 << 20);
        let answer = evaluate(&client, call("cat", large.clone())).await;
        assert_eq!(answer.expect("a list").resource_list, large);
    }
}

/// The status text and the data of the answer to a message with these headers.
async fn answer_to(test_server: &TestServer, more: &[(&str, &str)], message: Bytes) -> Answer {
    let stream = tokio::net::TcpStream::connect(test_server.address).await;
    let (mut sender, connection) = h2::client::handshake(stream.unwrap()).await.unwrap();
    tokio::spawn(connection);
    let mut request = http::Request::post(format!("http://localhost{EVALUATE}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers");
    for (name, value) in more {
        request = request.header(*name, *value);
    }
    let request = request.body(()).unwrap();
    let (response, mut body) = sender.send_request(request, false).unwrap();
    body.send_data(message, true).unwrap();
    let (head, mut body) = response.await.unwrap().into_parts();
    let mut data = Vec::new();
    while let Some(piece) = body.data().await {
        let piece = piece.unwrap();
        let _ = body.flow_control().release_capacity(piece.len());
        data.extend_from_slice(&piece);
    }
    let trailers = body.trailers().await.unwrap().unwrap_or_default();
    let status = Status::from_header_map(&head.headers);
    let status = status.or_else(|| Status::from_header_map(&trailers));
    Answer {
        status: status.expect("a status"),
        data,
    }
}

struct Answer {
    status: Status,
    data: Vec<u8>,
}

#[tokio::test]
async fn an_answer_is_compressed_only_if_it_is_large_and_the_caller_understands() {
    let test_server = TestServer::new().await;
    test_server.script("cat", "cat");
    let accept = [("grpc-accept-encoding", "identity,gzip")];
    let cases = [
        (60 << 10, true, 0),
        (65 << 10, true, 1),
        (65 << 10, false, 0),
    ];
    for (size, accepts, flag) in cases {
        let request = message(&call("cat", list(size)).encode_to_vec());
        let more = match accepts {
            true => &accept[..],
            false => &[],
        };
        let answer = answer_to(&test_server, more, request.into()).await;
        assert_eq!(answer.data.first(), Some(&flag), "{size} {accepts}");
    }
}

#[tokio::test]
async fn a_bomb_is_refused_and_gives_its_memory_back() {
    let test_server = TestServer::with(limits(1 << 20), Words::Runner).await;
    let bomb = gzip::compress(&message(&vec![b' '; 40 << 20])).unwrap();
    assert!(bomb.len() < 1 << 20, "{}", bomb.len());
    for _ in 0..20 {
        let more = [("grpc-encoding", "gzip")];
        let Answer { status, .. } = answer_to(&test_server, &more, bomb.clone()).await;
        assert_eq!(status.code(), Code::ResourceExhausted);
        let text = status.message();
        assert!(text.contains("limit of 1048576 bytes"), "{text}");
    }
    test_server
        .call("tree", list(1000 << 10))
        .await
        .expect("there is room");
}

#[tokio::test]
async fn a_decompressed_request_counts_as_memory() {
    let options = Options {
        max_message_size: 1 << 20,
        max_held_bytes: 1 << 20,
        ..Options::default()
    };
    let test_server = TestServer::with(options, Words::Runner).await;
    let fits = call("tree", list(900 << 10)).encode_to_vec();
    let more = [("grpc-encoding", "gzip")];
    let compressed = gzip::compress(&message(&fits)).unwrap();
    let answer = answer_to(&test_server, &more, compressed).await;
    assert_eq!(answer.status.code(), Code::Ok, "{:?}", answer.status);
    // Random bytes hardly shrink: compressed and decompressed, they are more than the server may hold.
    let noise: String = noise().take(700 << 10).collect();
    let request = call("tree", format!("{LIST}#{noise}\n")).encode_to_vec();
    let compressed = gzip::compress(&message(&request)).unwrap();
    let answer = answer_to(&test_server, &more, compressed).await;
    let text = answer.status.message();
    assert!(text.contains("raise --max-held-bytes"), "{text}");
    // The memory of the refused request is free again.
    let compressed = gzip::compress(&message(&fits)).unwrap();
    let answer = answer_to(&test_server, &more, compressed).await;
    assert_eq!(answer.status.code(), Code::Ok, "{:?}", answer.status);
}

/// Letters that follow no pattern.
fn noise() -> impl Iterator<Item = char> {
    let mut state = 1_u64;
    std::iter::from_fn(move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from_digit((state >> 58) as u32 % 36, 36)
    })
}

#[tokio::test]
async fn broken_and_unknown_encodings_are_refused() {
    let test_server = TestServer::new().await;
    let mut broken = message(b"not gzip at all");
    broken[0] = 1;
    let cases: [(&[(&str, &str)], Code); 3] = [
        (&[("grpc-encoding", "gzip")], Code::InvalidArgument),
        (&[("grpc-encoding", "br")], Code::Unimplemented),
        (&[], Code::Internal),
    ];
    for (more, code) in cases {
        let answer = answer_to(&test_server, more, broken.clone().into()).await;
        assert_eq!(answer.status.code(), code, "{more:?}: {:?}", answer.status);
    }
    test_server.call("tree", LIST).await.expect("it lives on");
}
