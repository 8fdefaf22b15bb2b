//! Command lines of the server.

use super::*;

fn parse(arguments: &[&str]) -> Result<ServerConfig, Stop> {
    ServerFlags::new().parse(arguments.iter().map(|&argument| argument.to_owned()))
}

#[track_caller]
fn refused(arguments: &[&str], text: &str) {
    match parse(arguments) {
        Err(stop @ Stop::Usage(_)) => assert!(stop.text().starts_with(text), "{}", stop.text()),
        other => panic!("{arguments:?} gives {:?}", other.map(|config| config.port)),
    }
}

#[test]
fn flags_then_dashes_then_the_entrypoint() {
    let config = parse(&[
        "--port",
        "1234",
        "-verbosity=5",
        "--",
        "/fn",
        "--port",
        "--",
    ])
    .unwrap();
    assert_eq!((config.port, config.verbosity), (1234, 5));
    assert_eq!(config.entrypoint, ["/fn", "--port", "--"]);
}

#[test]
fn what_is_not_given_is_as_porch_has_it() {
    let config = parse(&["--", "cat"]).unwrap();
    assert_eq!((config.port, config.verbosity), (9446, 2));
    assert_eq!(config.max_message_size, 6_291_456);
    assert_eq!(config.max_held_bytes, 512 << 20);
    assert!(config.is_plaintext());
}

#[test]
fn there_is_room_for_one_request_at_least() {
    let config = parse(&["--max-held-bytes=1", "--", "cat"]).unwrap();
    assert_eq!(config.max_held_bytes, config.max_message_size);
}

#[test]
fn what_cannot_work_is_refused() {
    refused(&["--port", "1"], "no entrypoint: ");
    refused(&["--"], "no entrypoint: ");
    refused(
        &["--port=70000", "--", "cat"],
        "invalid value for flag -port: ",
    );
    refused(
        &["--max-request-body-size=0", "--", "cat"],
        "invalid value for flag -max-request-body-size: ",
    );
    refused(
        &["--nope", "--", "cat"],
        "flag provided but not defined: -nope\n",
    );
    refused(
        &["--tls-cert=x", "--", "cat"],
        "-tls-cert and -tls-key must be used together",
    );
    refused(&["--require-tls", "--", "cat"], "-require-tls requires ");
    refused(
        &["--tls-client-ca=x", "--", "cat"],
        "-tls-client-ca requires ",
    );
}
