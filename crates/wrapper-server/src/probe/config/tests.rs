//! Command lines of the probe.

use super::*;

fn parse(arguments: &[&str]) -> Result<ProbeCommand, String> {
    ProbeFlags::new().parse(arguments.iter().map(|&argument| argument.to_owned()))
}

#[track_caller]
fn refused(arguments: &[&str], text: &str) {
    match parse(arguments) {
        Err(message) => assert_eq!(message, text),
        Ok(_) => panic!("{arguments:?} is fine"),
    }
}

#[track_caller]
fn probe(arguments: &[&str]) -> Box<ProbeConfig> {
    match parse(arguments) {
        Ok(ProbeCommand::Probe(config)) => config,
        Ok(ProbeCommand::Version) => panic!("asked for the version"),
        Err(message) => panic!("{message}"),
    }
}

#[test]
fn what_kubernetes_runs() {
    let config = probe(&["-addr", "localhost:9446"]);
    assert_eq!(config.address, "localhost:9446");
    assert_eq!(config.service, "");
    assert_eq!(config.connect_timeout, Duration::from_secs(1));
    assert_eq!(config.rpc_timeout, Duration::from_secs(1));
    assert!(config.tls.is_none());
}

#[test]
fn everything_at_once() {
    let config = probe(&[
        "-addr=:1",
        "-service=x",
        "-connect-timeout=250ms",
        "-rpc-timeout",
        "3s",
        "-rpc-header",
        "A: b",
        "-rpc-header=c:  d",
        "-tls",
        "-tls-client-cert=c",
        "-tls-client-key=k",
        "-tls-ca-cert=ca",
        "-tls-server-name=n",
        "-v",
    ]);
    assert_eq!(config.connect_timeout, Duration::from_millis(250));
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(config.headers, [header("a", "b"), header("c", "d")]);
    let tls = config.tls.unwrap();
    assert_eq!(tls.identity, Some(("c".into(), "k".into())));
    assert!(matches!(
        tls.trust,
        Trust::Signed {
            ca: Some(_),
            server_name: Some(_)
        }
    ));
}

#[test]
fn invalid_flags_are_refused_in_the_words_of_the_tool() {
    refused(&[], "error: -addr not specified\n");
    refused(
        &["-addr=x:1", "-rpc-timeout=0s"],
        "error: -rpc-timeout must be greater than zero (specified: 0s)\n",
    );
    refused(
        &["-addr=x:1", "-tls-no-verify"],
        "error: specified -tls-no-verify without specifying -tls\n",
    );
    refused(
        &["-addr=x:1", "-tls", "-tls-client-cert=c"],
        "error: specified -tls-client-cert without specifying -tls-client-key\n",
    );
    refused(
        &["-addr=x:1", "-tls", "-tls-no-verify", "-tls-ca-cert=c"],
        "error: cannot specify -tls-ca-cert with -tls-no-verify (CA cert would not be used)\n",
    );
    assert!(matches!(parse(&["-version"]), Ok(ProbeCommand::Version)));
}
