//! Lists that are larger than a message, in parts.

use bytes::Bytes;
use kiln_proto::client::{CallError, EvaluatorClient, TooLarge};
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use kiln_proto::parts::{
    Content, MAX_PART_MESSAGE, Part, Parts, PartsEnd, PartsHead, StreamingEvaluatorClient,
};
use kiln_proto::peer::MessageLimits;
use kiln_server::{Options, Words};
use tonic::metadata::MetadataMap;
use tonic::{Code, Response, Status};

use crate::harness::{LIST, TestServer, request};

/// Limits of a client that sends what exceeds 4,000 bytes in parts.
const LIMITS: MessageLimits = MessageLimits {
    porch: 2000,
    kiln: 4000,
    streamed: 8 << 20,
};

/// A list of `size` bytes.
fn list(size: usize) -> String {
    let mut list = format!("{LIST}#");
    list.extend(std::iter::repeat_n('x', size - list.len() - 1));
    list.push('\n');
    list
}

fn call(image: &str, list: impl Into<Bytes>) -> EvaluateFunctionRequest {
    request(image, list).into_inner()
}

async fn evaluate(
    test_server: &TestServer,
    limits: MessageLimits,
    message: EvaluateFunctionRequest,
) -> Result<Response<EvaluateFunctionResponse>, CallError> {
    let client = EvaluatorClient::new(test_server.channel().await, limits);
    client.evaluate(message, MetadataMap::new()).await
}

/// The answer to parts, or the status.
async fn send(test_server: &TestServer, parts: Vec<Part>) -> Result<Vec<Part>, Status> {
    let mut client = StreamingEvaluatorClient::new(test_server.channel().await);
    let response = client.evaluate(tokio_stream::iter(parts)).await?;
    let mut stream = response.into_inner();
    let mut answer = Vec::new();
    while let Some(part) = stream.message().await? {
        answer.push(part);
    }
    Ok(answer)
}

fn part(content: Content) -> Part {
    Part {
        content: Some(content),
    }
}

fn head(image: &str, list_size: u64) -> Part {
    part(Content::Head(PartsHead {
        image: image.to_owned(),
        list_size,
        log_size: 0,
    }))
}

fn of_size(bytes: usize) -> Options {
    Options {
        max_held_bytes: bytes,
        ..Options::default()
    }
}

#[tokio::test]
async fn a_list_beyond_the_limit_of_messages_arrives() {
    let test_server = TestServer::new().await;
    test_server.script("cat", "cat; echo done >&2");
    for size in [4000, 1 << 20, 5 << 20] {
        let list = list(size);
        let answer = evaluate(&test_server, LIMITS, call("cat", list.clone())).await;
        let answer = answer.expect("a list").into_inner();
        assert!(answer.resource_list == list, "{size}");
        assert_eq!(answer.log, "done\n", "{size}");
    }
    let message = call("tree", list(5000));
    let answer = evaluate(&test_server, LIMITS, message).await;
    assert_eq!(answer.expect("a native function").into_inner().log, "said");
}

#[tokio::test]
async fn an_answer_may_be_larger_than_its_request() {
    let test_server = TestServer::new().await;
    test_server.script("grows", "cat; head -c 3000000 /dev/zero | tr '\\0' '#'");
    let answer = evaluate(&test_server, LIMITS, call("grows", list(5000))).await;
    let answer = answer.expect("a list").into_inner();
    assert_eq!(answer.resource_list.len(), 3_005_000);

    let small = MessageLimits {
        streamed: 1 << 20,
        ..LIMITS
    };
    let error = evaluate(&test_server, small, call("grows", list(5000))).await;
    let Err(CallError::Status(status)) = error else {
        panic!("{error:?}");
    };
    assert_eq!(status.code(), Code::ResourceExhausted);
    let text = status.message();
    assert!(
        text.contains("more than the 1048576 bytes that the caller accepts"),
        "{text}"
    );
}

#[tokio::test]
async fn failures_and_identities_are_those_of_the_other_method() {
    let test_server = TestServer::new().await;
    test_server.script("fails", "cat; echo broken >&2; exit 3");
    let few = MessageLimits {
        kiln: 1 << 20,
        ..LIMITS
    };
    let mut statuses = Vec::new();
    for limits in [few, LIMITS] {
        let error = evaluate(&test_server, limits, call("fails", list(5000))).await;
        let Err(CallError::Status(status)) = error else {
            panic!("{error:?}");
        };
        statuses.push((status.code(), status.message().to_owned()));
        let error = evaluate(&test_server, limits, call("unknown", list(5000))).await;
        let Err(CallError::Status(status)) = error else {
            panic!("{error:?}");
        };
        assert_eq!(status.code(), Code::NotFound);
    }
    assert_eq!(statuses[0], statuses[1]);
}

#[tokio::test]
async fn a_list_beyond_all_limits_is_not_sent() {
    let test_server = TestServer::with(of_size(80 << 20), Words::Runner).await;
    let limits = MessageLimits {
        streamed: 100 << 20,
        ..LIMITS
    };
    let error = evaluate(&test_server, limits, call("cat", list(71 << 20))).await;
    let Err(CallError::TooLarge(too_large)) = error else {
        panic!("was sent");
    };
    let TooLarge {
        limit, announced, ..
    } = too_large;
    // Seven eighths of what the server may hold.
    assert_eq!((limit, announced), (70 << 20, Some(70 << 20)));
}

#[tokio::test]
async fn a_server_with_a_limit_of_its_own_has_no_larger_one_for_parts() {
    let options = Options {
        max_message_size: 10_000,
        ..Options::default()
    };
    let test_server = TestServer::with(options, Words::Runner).await;
    let error = evaluate(&test_server, LIMITS, call("tree", list(9000))).await;
    let Err(CallError::TooLarge(too_large)) = error else {
        panic!("was sent: {error:?}");
    };
    assert_eq!((too_large.limit, too_large.announced), (4000, Some(10_000)));
    let status = send(&test_server, vec![head("tree", 1)]).await;
    assert_eq!(status.expect_err("off").code(), Code::Unimplemented);
}

#[tokio::test]
async fn invalid_parts_are_refused_and_run_nothing() {
    let test_server = TestServer::new().await;
    test_server.script("counts", "echo >> \"$(dirname \"$0\")/calls\"; cat");
    let good: Vec<Part> = Parts::of_request(call("counts", list(3 << 20))).collect();
    let no_end = good[..good.len() - 1].to_vec();
    let mut wrong_hash = no_end.clone();
    wrong_hash.push(part(Content::End(PartsEnd::default())));
    let too_large = MAX_PART_MESSAGE + 1;
    let cases = [
        (vec![], Code::InvalidArgument, "parts are missing"),
        (no_end, Code::InvalidArgument, "parts are missing"),
        (wrong_hash, Code::InvalidArgument, "announced hash"),
        (good[1..].to_vec(), Code::InvalidArgument, "not a head"),
        (
            vec![head("counts", u64::MAX)],
            Code::ResourceExhausted,
            "more than the limit of 268435456 bytes",
        ),
        (
            vec![
                head("counts", 8 << 20),
                part(Content::Data(vec![b'x'; too_large].into())),
            ],
            Code::InvalidArgument,
            "malformed part",
        ),
    ];
    for (parts, code, text) in cases {
        let status = send(&test_server, parts).await.expect_err(text);
        assert_eq!(status.code(), code, "{status:?}");
        assert!(status.message().contains(text), "{status:?}");
    }
    assert!(!test_server.path("calls").exists());
    send(&test_server, good).await.expect("a list");
    assert!(test_server.path("calls").exists());
}

#[tokio::test]
async fn parts_that_are_being_received_count_as_memory() {
    let test_server = TestServer::with(of_size(100 << 20), Words::Runner).await;
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    let channel = test_server.channel().await;
    let slow = tokio::spawn(async move {
        let parts = tokio_stream::wrappers::ReceiverStream::new(receiver);
        StreamingEvaluatorClient::new(channel).evaluate(parts).await
    });
    // One that announces much and sends little keeps no others out.
    sender.send(head("tree", 80 << 20)).await.unwrap();
    let piece = part(Content::Data(vec![b'#'; 1 << 20].into()));
    sender.send(piece.clone()).await.unwrap();
    sender.send(piece).await.unwrap();
    let answer = evaluate(&test_server, LIMITS, call("tree", list(5 << 20))).await;
    answer.expect("there is room");
    drop(sender);
    let status = slow.await.unwrap().expect_err("incomplete");
    assert_eq!(status.code(), Code::InvalidArgument);
}
