//! `kiln serve` with TLS, and the hints for connections that do not work.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair};
use rustix::process::{Pid, Signal, kill_process};

use crate::faults::skip;
use crate::test_environment::{Outcome, TestEnvironment};

const LIST: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n\
    - apiVersion: v1\n  kind: ConfigMap\n  metadata:\n    name: a\n";

/// A server on a free port. Dropping it stops it.
struct Server {
    child: Child,
    port: String,
}

impl Server {
    fn start(test_env: &TestEnvironment, flags: &[&str]) -> Server {
        let program = test_env.bin().join("kiln").display().to_string();
        let mut command = test_env.command(&program, &test_env.work());
        command
            .args(["serve", "--port=0", "--status-address="])
            .args(flags);
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("a program");
        let stderr = child.stderr.take().expect("standard error");
        let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
        let address = lines.find_map(|line| {
            let (_, address) = line.split_once("address=\"127.0.0.1:")?;
            Some(address.split('"').next()?.to_owned())
        });
        // The server must be able to log.
        std::thread::spawn(move || lines.for_each(drop));
        Server {
            port: address.expect("an address"),
            child,
        }
    }

    /// Calls a function that is built into the runner.
    fn call(&self, test_env: &TestEnvironment, scheme: &str, flags: &[&str]) -> Outcome {
        call(test_env, &format!("{scheme}localhost:{}", self.port), flags)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}

fn call(test_env: &TestEnvironment, address: &str, flags: &[&str]) -> Outcome {
    let runner = format!("--runner={address}");
    let mut args = vec![
        "fn",
        "eval",
        "-",
        "-i",
        "set-labels:v0.2.0",
        "--no-native",
        &runner,
    ];
    args.extend(flags);
    args.extend(["--", "a=b"]);
    test_env.kiln(&args, LIST)
}

#[track_caller]
fn check_works(ran: &Outcome) {
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("a: b"), "{}", ran.stdout);
}

#[track_caller]
fn check_hint(ran: &Outcome, hint: &str) {
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    let found = ran
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("hint: "));
    assert!(
        found.is_some_and(|found| found.contains(hint)),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_self_signed_server_works_and_others_get_hints() {
    let test_env = TestEnvironment::new();
    let server = Server::start(&test_env, &["--tls-self-signed"]);
    let home = test_env.bin().join("../home");
    let ca = home.join(".cache/kiln/serve-tls/ca.pem");
    let trust = format!("--runner-tls-ca={}", ca.display());
    check_works(&server.call(&test_env, "https://", &[&trust]));
    check_hint(
        &server.call(&test_env, "http://", &[]),
        "pass its CA certificate with --runner-tls-ca",
    );
    let key = home.join(".cache/kiln/serve-tls/key.pem");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&fs::metadata(key).expect("a key").permissions());
    assert_eq!(mode & 0o777, 0o600);

    let other = certificate(&test_env.work(), "other", Is::Ca);
    let trust = format!("--runner-tls-ca={other}");
    check_hint(
        &server.call(&test_env, "https://", &[&trust]),
        "is from another CA",
    );
}

#[test]
fn a_server_without_tls_refuses_it() {
    let test_env = TestEnvironment::new();
    let server = Server::start(&test_env, &[]);
    check_works(&server.call(&test_env, "http://", &[]));
    check_hint(&server.call(&test_env, "https://", &[]), "does not use TLS");
}

#[test]
fn the_certificate_of_a_ca_is_not_one_of_a_server() {
    let test_env = TestEnvironment::new();
    let ca = certificate(&test_env.work(), "ca", Is::Ca);
    let flags = ["--tls-cert=ca.pem", "--tls-key=ca-key.pem"];
    let server = Server::start(&test_env, &flags);
    let trust = format!("--runner-tls-ca={ca}");
    let ran = server.call(&test_env, "https://", &[&trust]);
    check_hint(&ran, "uses the certificate of a CA as its own");
}

#[test]
fn a_name_that_the_certificate_does_not_have() {
    let test_env = TestEnvironment::new();
    let own = certificate(&test_env.work(), "own", Is::Server("runner.test"));
    let flags = ["--tls-cert=own.pem", "--tls-key=own-key.pem"];
    let server = Server::start(&test_env, &flags);
    let trust = format!("--runner-tls-ca={own}");
    let ran = server.call(&test_env, "https://", &[&trust]);
    check_hint(&ran, "--runner-tls-server-name");
}

#[test]
fn a_token_that_is_missing() {
    let test_env = TestEnvironment::new();
    test_env.write("token", "secret\n");
    let server = Server::start(&test_env, &["--auth-token-file=token"]);
    check_hint(
        &server.call(&test_env, "http://", &[]),
        "--runner-token-file",
    );
    check_works(&server.call(&test_env, "http://", &["--runner-token-file=token"]));
}

#[test]
fn nothing_listens() {
    let test_env = TestEnvironment::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    drop(listener);
    let ran = call(&test_env, &format!("127.0.0.1:{port}"), &[]);
    check_hint(&ran, "start a runner with `kiln serve`");
}

#[test]
fn the_recipe_with_openssl_works() {
    let test_env = TestEnvironment::new();
    if test_env
        .shell(&test_env.work(), "openssl version", &[])
        .code
        != Some(0)
    {
        return skip("docs/runner.md", "openssl is not there");
    }
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/runner.md");
    let page = fs::read_to_string(page).expect("a page");
    let recipe = page.split("```sh openssl\n").nth(1).expect("a recipe");
    let recipe = recipe.split("```").next().expect("its end");
    let ran = test_env.shell(&test_env.work(), &format!("set -e\n{recipe}"), &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let server = Server::start(&test_env, &["--tls-cert=cert.pem", "--tls-key=key.pem"]);
    check_works(&server.call(&test_env, "https://", &["--runner-tls-ca=ca.pem"]));
}

enum Is {
    Ca,
    Server(&'static str),
}

/// Writes `NAME.pem` and `NAME-key.pem`, and returns the path of the former.
fn certificate(directory: &Path, name: &str, is: Is) -> String {
    let names = match &is {
        Is::Ca => vec!["localhost".to_owned()],
        Is::Server(name) => vec![(*name).to_owned()],
    };
    let mut params = CertificateParams::new(names).expect("names");
    if let Is::Ca = is {
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    }
    let key = KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    let path = directory.join(format!("{name}.pem"));
    fs::write(&path, certificate.pem()).expect("writes");
    fs::write(
        directory.join(format!("{name}-key.pem")),
        key.serialize_pem(),
    )
    .expect("writes");
    path.display().to_string()
}
