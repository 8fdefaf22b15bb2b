//! A `docker-registry` that runs, if there is one.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tempfile::TempDir;

/// A registry that is stopped when it is dropped.
pub(crate) struct Program {
    child: Child,
    /// Host and port.
    pub(crate) host: String,
    /// Its files, and the certificate of its authority as `ca.crt`.
    pub(crate) directory: TempDir,
}

/// `me` with the password `pass`, in the only form that the registry reads.
const HTPASSWD: &str = "me:$2y$05$vpCuxEqnit.3Th4gP2Qob.gweF8gJdhTz.PJSZaLzANiA4Mhrhm1O\n";

impl Program {
    /// Starts one. None, and a loud word about it, if it is not installed.
    pub(crate) fn start(secure: bool) -> Option<Program> {
        let directory = tempfile::tempdir().unwrap();
        // Somebody else may take the port in between; then another one is tried.
        for _ in 0..10 {
            let host = free_address();
            configure(directory.path(), &host, secure);
            let child = Command::new("docker-registry")
                .arg("serve")
                .arg(directory.path().join("config.yaml"))
                .env_clear()
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn();
            let mut child = match child {
                Ok(child) => child,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    let message =
                        "SKIPPED: a real registry, because docker-registry is not installed\n";
                    io::stderr().write_all(message.as_bytes()).unwrap();
                    return None;
                }
                Err(error) => panic!("docker-registry: {error}"),
            };
            if listens(&mut child) {
                return Some(Program {
                    child,
                    host,
                    directory,
                });
            }
            let _ = child.kill();
            child.wait().unwrap();
        }
        panic!("docker-registry does not start");
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Waits until it says that it listens, or that it ends. What it says later is read and forgotten.
fn listens(child: &mut Child) -> bool {
    let (sender, receiver) = mpsc::channel();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    std::thread::spawn(move || {
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
            if line.contains("listening on") {
                sender.send(()).unwrap();
                break;
            }
            line.clear();
        }
        drop(sender);
        let _ = lines.read_to_end(&mut Vec::new());
    });
    receiver.recv().is_ok()
}

fn configure(directory: &Path, host: &str, secure: bool) {
    let path = |name: &str| directory.join(name).display().to_string();
    fs::write(path("htpasswd"), HTPASSWD).unwrap();
    let mut config = format!(
        "version: 0.1\nlog: {{level: info}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp:\n  addr: {host}\n",
        path("data")
    );
    if secure {
        certificate(directory);
        config.push_str(&format!(
            "  tls: {{certificate: {}, key: {}}}\nauth:\n  htpasswd: {{realm: test, path: {}}}\n",
            path("server.crt"),
            path("server.key"),
            path("htpasswd")
        ));
    }
    fs::write(path("config.yaml"), config).unwrap();
}

/// An authority, and a certificate it gave for this machine.
fn certificate(directory: &Path) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    fs::write(directory.join("ca.crt"), issuer.pem()).unwrap();
    fs::write(directory.join("server.crt"), certificate.pem()).unwrap();
    fs::write(directory.join("server.key"), key.serialize_pem()).unwrap();
}
