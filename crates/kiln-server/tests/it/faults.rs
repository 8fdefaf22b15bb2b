//! Functions and clients that misbehave without an effect on others.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use bytes::Bytes;
use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use tonic::Code;
use tonic::codec::{Codec, Decoder, EncodeBuf, Encoder};

use crate::harness::{LIST, TestServer, request};

/// The status code for a script, and whether its process is gone.
async fn check(script: &str, wanted: Result<(), (Code, &str)>) {
    let test_server = TestServer::new().await;
    test_server.script("cat", "exec cat");
    let script = format!("echo $$ > \"$(dirname \"$0\")/pid\"\n{script}");
    test_server.script("bad", &script);
    let answer = test_server.call("bad", LIST).await;
    match (answer, wanted) {
        (Ok(_), Ok(())) => {}
        (Err(status), Err((code, text))) => {
            assert_eq!((status.code(), status.message()), (code, text));
        }
        (answer, _) => panic!("{script}: {answer:?}"),
    }
    test_server.is_gone("pid").await;
    test_server.call("cat", LIST).await.expect("a list");
}

#[tokio::test]
async fn a_function_that_dies_by_a_signal_fails() {
    let text = "Failed to execute function \"bad\": signal: killed ()";
    check("kill -9 $$", Err((Code::Internal, text))).await;
    let text = "Failed to execute function \"bad\": signal: segmentation fault ()";
    check("kill -11 $$", Err((Code::Internal, text))).await;
}

#[tokio::test]
async fn a_function_that_closes_its_output_early_is_waited_for() {
    check("exec cat >&-; true", Err((Code::Internal, "Failed to execute function \"bad\": exit status 1 (cat: standard output: Bad file descriptor\n)"))).await;
    // It was waited for, and printed no list.
    let text = "failed to parse the output of function \"bad\" with stderr '': failed to parse input bytes: \
                expected exactly one object, got 0";
    check(
        "exec >&-; cat > /dev/null; exit 0",
        Err((Code::Internal, text)),
    )
    .await;
}

#[tokio::test]
async fn a_function_that_reads_nothing_is_fine() {
    check("printf 'kind: ResourceList\\nitems: []\\n'", Ok(())).await;
}

#[tokio::test]
async fn a_function_that_writes_a_gigabyte_is_killed() {
    let text = "function \"bad\" wrote more than 12582912 bytes and was killed; \
                the limit is twice --max-request-body-size";
    check(
        "head -c 1000000000 /dev/zero",
        Err((Code::ResourceExhausted, text)),
    )
    .await;
    check(
        "exec cat /dev/zero >&2",
        Err((Code::ResourceExhausted, text)),
    )
    .await;
}

#[tokio::test]
async fn a_function_that_leaves_a_daemon_with_its_output_is_answered() {
    let script =
        "( trap '' HUP TERM; exec sleep 1000 ) & echo $! > \"$(dirname \"$0\")/daemon\"; cat";
    let test_server = TestServer::new().await;
    test_server.script("bad", script);
    test_server.call("bad", LIST).await.expect("a list");
    test_server.is_gone("daemon").await;
}

#[tokio::test]
async fn a_missing_program_is_internal() {
    let test_server = TestServer::new().await;
    test_server.script("gone", "exec /nonexistent/program");
    let status = test_server
        .call("gone", LIST)
        .await
        .expect_err("no program");
    assert_eq!(status.code(), Code::Internal);
    let start = "Failed to execute function \"gone\": exit status 127 (";
    assert!(status.message().starts_with(start), "{}", status.message());
}

/// Sends bytes that are not a message.
#[derive(Clone, Copy, Default)]
struct RawCodec;

impl Codec for RawCodec {
    type Encode = Bytes;
    type Decode = EvaluateFunctionResponse;
    type Encoder = RawCodec;
    type Decoder = <tonic_prost::ProstCodec<EvaluateFunctionRequest, EvaluateFunctionResponse> as Codec>::Decoder;

    fn encoder(&mut self) -> RawCodec {
        RawCodec
    }

    fn decoder(&mut self) -> Self::Decoder {
        tonic_prost::ProstCodec::<EvaluateFunctionRequest, EvaluateFunctionResponse>::default()
            .decoder()
    }
}

impl Encoder for RawCodec {
    type Item = Bytes;
    type Error = tonic::Status;

    fn encode(&mut self, item: Bytes, buf: &mut EncodeBuf<'_>) -> Result<(), tonic::Status> {
        bytes::BufMut::put(buf, item);
        Ok(())
    }
}

#[tokio::test]
async fn bytes_that_are_not_a_message_are_the_callers_error() {
    fn is_decoder<T: Decoder>(_: T) {}
    is_decoder(RawCodec.decoder());
    let test_server = TestServer::new().await;
    let mut grpc = tonic::client::Grpc::new(test_server.channel().await);
    for bytes in [&b"\xff\xff\xff"[..], b"\x0a\x7fabc", b"\x12\x02\xff\xfe"] {
        grpc.ready().await.expect("a channel");
        let path =
            http::uri::PathAndQuery::from_static("/evaluator.FunctionEvaluator/EvaluateFunction");
        let request = tonic::Request::new(Bytes::from_static(bytes));
        let answer = grpc.unary(request, path, RawCodec).await;
        let status = answer.expect_err("no message");
        assert_eq!(status.code(), Code::InvalidArgument, "{status:?}");
        assert!(
            status.message().starts_with("malformed request: "),
            "{}",
            status.message()
        );
    }
}

#[tokio::test]
async fn a_connection_that_does_not_speak_http2_is_closed() {
    let test_server = TestServer::new().await;
    let address = test_server.address;
    let first = tokio::task::spawn_blocking(move || {
        let mut stream = TcpStream::connect(address).expect("a connection");
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        answer
    });
    assert_eq!(first.await.expect("an end"), b"");
    test_server.call("tree", LIST).await.expect("a list");
}

#[tokio::test]
async fn silent_connections_do_not_affect_others() {
    let test_server = TestServer::new().await;
    let silent: Vec<TcpStream> = (0..100)
        .map(|_| {
            let mut stream = TcpStream::connect(test_server.address).expect("a connection");
            let _ = stream.write_all(b"PRI * HT");
            stream
        })
        .collect();
    test_server.call("tree", LIST).await.expect("a list");
    drop(silent);
}

#[tokio::test]
async fn a_client_that_disconnects_takes_its_function_with_it() {
    let test_server = TestServer::new().await;
    test_server.script(
        "hangs",
        "echo $$ > \"$(dirname \"$0\")/pid\"; exec sleep 1000",
    );
    // A separate runtime, so that the connection is gone when it is.
    let address = test_server.address;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.spawn(async move {
        let endpoint = tonic::transport::Endpoint::from_shared(format!("http://{address}"));
        let channel = endpoint
            .expect("an address")
            .connect()
            .await
            .expect("a connection");
        let mut client =
            kiln_proto::evaluator::function_evaluator_client::FunctionEvaluatorClient::new(channel);
        client.evaluate_function(request("hangs", LIST)).await
    });
    test_server.appears("pid").await;
    runtime.shutdown_background();
    test_server.is_gone("pid").await;
}
