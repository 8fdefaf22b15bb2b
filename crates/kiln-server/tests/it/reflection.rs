//! Server reflection.

use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::harness::TestServer;

#[tokio::test]
async fn services_are_listed() {
    let test_server = TestServer::new().await;
    let request = ServerReflectionRequest {
        host: String::new(),
        message_request: Some(MessageRequest::ListServices(String::new())),
    };
    let requests = tokio_stream::once(request);
    let mut client = ServerReflectionClient::new(test_server.channel().await);
    let answers = client.server_reflection_info(requests).await;
    let mut answers = answers.expect("answers").into_inner();
    let answer = answers.message().await.expect("an answer").expect("one");
    let Some(MessageResponse::ListServicesResponse(services)) = answer.message_response else {
        panic!("{answer:?}");
    };
    let names: Vec<&str> = services
        .service
        .iter()
        .map(|service| service.name.as_str())
        .collect();
    for name in [
        "evaluator.FunctionEvaluator",
        "grpc.health.v1.Health",
        "kiln.evaluator.v1.StreamingEvaluator",
    ] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[tokio::test]
async fn what_is_not_there_is_unimplemented() {
    let test_server = TestServer::new().await;
    let mut grpc = tonic::client::Grpc::new(test_server.channel().await);
    for (path, text) in [
        (
            "/evaluator.FunctionEvaluator/Nope",
            "unknown method Nope for service evaluator.FunctionEvaluator",
        ),
        ("/nope.Nope/Nope", "unknown service nope.Nope"),
    ] {
        let codec = tonic_prost::ProstCodec::<
            kiln_proto::evaluator::EvaluateFunctionRequest,
            kiln_proto::evaluator::EvaluateFunctionResponse,
        >::default();
        let path = http::uri::PathAndQuery::from_static(path);
        let request = crate::harness::request("x", "");
        grpc.ready().await.expect("a channel");
        let status = grpc.unary(request, path, codec).await.expect_err("nothing");
        assert_eq!(
            (status.code(), status.message()),
            (tonic::Code::Unimplemented, text)
        );
    }
}
