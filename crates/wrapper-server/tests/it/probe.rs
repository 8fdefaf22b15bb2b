//! The second name: exit codes and words of `grpc_health_probe`.

use std::net::TcpListener;

use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::wrapper_process::{Wrapper, file, probe, probe_as, script};

#[track_caller]
fn check(arguments: &[&str], code: i32, expected: &str) {
    let output = probe(arguments);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        (output.status.code(), stderr.as_ref()),
        (Some(code), expected)
    );
}

#[test]
fn a_server_that_serves_is_healthy() {
    let wrapper = Wrapper::start(&[], &script("cat"));
    let addresses = [wrapper.address(), format!("localhost:{}", wrapper.port)];
    for address in addresses {
        check(&["-addr", &address], 0, "status: SERVING\n");
        let service = "-service=evaluator.FunctionEvaluator";
        check(&["-addr", &address, service], 0, "status: SERVING\n");
    }
    let output = probe_as(
        "/some/where/grpc_health_probe",
        &["-addr", &wrapper.address()],
    );
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn an_unknown_service_is_a_failed_call() {
    let wrapper = Wrapper::start(&[], &script("cat"));
    let output = probe(&["-addr", &wrapper.address(), "-service", "x"]);
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(3), "{printed}");
    let expected = "error: health rpc failed: rpc error: code = NotFound desc = ";
    assert!(printed.starts_with(expected), "{printed}");
}

#[test]
fn a_closed_port_is_a_failed_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let expected = format!("timeout: failed to connect service \"{address}\" within 200ms\n");
    check(&["-addr", &address, "-connect-timeout=200ms"], 2, &expected);
}

#[test]
fn a_server_that_does_not_answer_is_a_failed_call() {
    // It accepts connections and sends nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let printed = "timeout: health rpc did not complete within 300ms\n";
    check(
        &[
            "-addr",
            &address,
            "-connect-timeout=60s",
            "-rpc-timeout=300ms",
        ],
        3,
        printed,
    );
}

#[test]
fn wrong_arguments_have_a_code_of_their_own() {
    check(&[], 1, "error: -addr not specified\n");
    let output = probe(&["-nope"]);
    assert_eq!(output.status.code(), Some(1));
    let output = probe(&["-version"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(output.stdout.starts_with(b"kiln "));
}

#[test]
fn tls_is_checked_by_default() {
    let directory = tempfile::tempdir().unwrap();
    let names = vec!["localhost".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let certificate = file(directory.path(), "tls.crt", cert.pem());
    let key = file(directory.path(), "tls.key", signing_key.serialize_pem());
    let flags = [
        format!("--tls-cert={certificate}"),
        format!("--tls-key={key}"),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let wrapper = Wrapper::start(&flags, &script("cat"));
    let address = format!("localhost:{}", wrapper.port);
    let trusting = format!("-tls-ca-cert={certificate}");
    let serving = "status: SERVING\n";
    check(&["-addr", &address, "-tls", &trusting], 0, serving);
    check(&["-addr", &address, "-tls", "-tls-no-verify"], 0, serving);
    let else_named = "-tls-server-name=else.test";
    let patience = "-connect-timeout=300ms";
    let output = probe(&["-addr", &address, "-tls", &trusting, else_named, patience]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let output = probe(&["-addr", &address, patience]);
    assert_ne!(output.status.code(), Some(0), "{output:?}");
}
