//! Which content types are gRPC.

use http::HeaderValue;

use super::is_grpc;

#[test]
fn other_protocols_are_not_grpc() {
    let check = |content_type, expected| {
        let value = HeaderValue::from_static(content_type);
        assert_eq!(is_grpc(&value), expected, "{content_type}");
    };
    check("application/grpc", true);
    check("application/grpc+proto", true);
    check("application/grpc;charset=utf-8", true);
    check("application/grpc-web", false);
    check("application/grpc-web+proto", false);
    check("application/grpcx", false);
    check("application/json", false);
    check("", false);
}
