//! A registry of a few lines, and Debian's where that is installed.
//!
//! The tests of the command line use this file too.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, mpsc};

use kiln_oci::{
    ImageSpec, Layout, Manifest, Platform, Registry, RegistryOptions, RunConfig, add_image,
};

/// A registry for one test.
pub(crate) struct TestRegistry {
    /// Host and port.
    pub(crate) host: String,
    kind: Kind,
}

enum Kind {
    Scripted(Answers),
    Program {
        child: Child,
        _directory: tempfile::TempDir,
    },
}

/// Type and body by path.
type Answers = Arc<Mutex<BTreeMap<String, (String, Vec<u8>)>>>;

impl TestRegistry {
    /// One that answers until the test is over.
    pub(crate) fn scripted() -> TestRegistry {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let host = listener.local_addr().expect("it has one").to_string();
        let answers = Answers::default();
        let shared = Arc::clone(&answers);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answers = Arc::clone(&shared);
                std::thread::spawn(move || answer(&stream, &answers));
            }
        });
        TestRegistry {
            host,
            kind: Kind::Scripted(answers),
        }
    }

    /// A real one; none, and a loud word about it, if it is not installed.
    #[expect(clippy::print_stderr, reason = "a skipped test must be seen")]
    pub(crate) fn program() -> Option<TestRegistry> {
        let directory = tempfile::tempdir().expect("a directory can be made");
        // Somebody else may take the port in between; then another one is tried.
        for _ in 0..10 {
            let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
            let host = free.expect("a port is free").to_string();
            let config = directory.path().join("config.yaml");
            let text = format!(
                "version: 0.1\nlog: {{level: info}}\nstorage:\n  filesystem: {{rootdirectory: {}}}\nhttp:\n  addr: {host}\n",
                directory.path().join("data").display()
            );
            std::fs::write(&config, text).expect("it can be written");
            let child = Command::new("docker-registry")
                .arg("serve")
                .arg(&config)
                .env_clear()
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn();
            let Ok(mut child) = child else {
                eprintln!("SKIPPED: a real registry, because docker-registry is not installed");
                return None;
            };
            if listens(&mut child) {
                return Some(TestRegistry {
                    host,
                    kind: Kind::Program {
                        child,
                        _directory: directory,
                    },
                });
            }
            child.kill().expect("it can be killed");
            child.wait().expect("it ends");
        }
        panic!("docker-registry does not start");
    }

    /// Puts an image of layers there; its digest.
    pub(crate) fn push(&self, repository: &str, tag: &str, layers: Vec<Vec<u8>>) -> String {
        let mut layout = Layout::default();
        let image = ImageSpec {
            platform: Platform::this_machine(),
            run: RunConfig::default(),
            layers: layers.into_iter().map(Into::into).collect(),
        };
        let root = add_image(&mut layout, image).expect("it can be added");
        match &self.kind {
            Kind::Scripted(answers) => {
                let manifests = layout.manifests_below(&root).expect("it is there");
                let mut answers = answers.lock().expect("not poisoned");
                for stored in &manifests {
                    let kind = stored.descriptor.media_type.clone();
                    let answer = (kind, stored.bytes.to_vec());
                    for name in [tag, stored.descriptor.digest.as_str()] {
                        let path = format!("/v2/{repository}/manifests/{name}");
                        answers.insert(path, answer.clone());
                    }
                    let Manifest::Image(image) = &stored.manifest else {
                        panic!("it is an image");
                    };
                    for blob in image.layers.iter().chain([&image.config]) {
                        let bytes = layout.blob(&blob.digest).expect("it is there").to_vec();
                        let path = format!("/v2/{repository}/blobs/{}", blob.digest);
                        answers.insert(path, ("application/octet-stream".to_owned(), bytes));
                    }
                }
                list_tags(&mut answers, repository);
            }
            Kind::Program { .. } => {
                let reference = format!("{}/{repository}:{tag}", self.host);
                let reference = reference.parse().expect("a reference");
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime");
                let registry = Registry::new(RegistryOptions::default());
                let pushed = registry.push(&reference, &layout, &root);
                runtime.block_on(pushed).expect("it can be pushed");
            }
        }
        root.digest.to_string()
    }

    /// Answers something of one's own. Only a scripted one does.
    pub(crate) fn say(&self, path: &str, kind: &str, body: &str) {
        let Kind::Scripted(answers) = &self.kind else {
            panic!("a real registry says what it likes");
        };
        let mut answers = answers.lock().expect("not poisoned");
        answers.insert(path.to_owned(), (kind.to_owned(), body.as_bytes().to_vec()));
    }
}

impl Drop for TestRegistry {
    fn drop(&mut self) {
        if let Kind::Program { child, .. } = &mut self.kind {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn list_tags(answers: &mut BTreeMap<String, (String, Vec<u8>)>, repository: &str) {
    let prefix = format!("/v2/{repository}/manifests/");
    let names = answers.keys().filter_map(|path| path.strip_prefix(&prefix));
    let tags: Vec<&str> = names.filter(|name| !name.contains(':')).collect();
    let body = format!("{{\"name\":{repository:?},\"tags\":{tags:?}}}");
    let path = format!("/v2/{repository}/tags/list");
    answers.insert(path, ("application/json".to_owned(), body.into_bytes()));
}

/// Waits until it says that it listens, or that it ends. What it says later is read and forgotten.
fn listens(child: &mut Child) -> bool {
    let (sender, receiver) = mpsc::channel();
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe"));
    std::thread::spawn(move || {
        let mut line = String::new();
        while lines.read_line(&mut line).is_ok_and(|read| read > 0) {
            if line.contains("listening on") {
                let _ = sender.send(());
                break;
            }
            line.clear();
        }
        drop(sender);
        let _ = lines.read_to_end(&mut Vec::new());
    });
    receiver.recv().is_ok()
}

fn answer(stream: &TcpStream, answers: &Answers) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let mut writer = stream;
    loop {
        let request = lines.next()?.ok()?;
        while !lines.next()?.ok()?.is_empty() {}
        let path = request.split(' ').nth(1)?;
        let found = answers.lock().ok()?.get(path).cloned();
        let (status, kind, body) = match found {
            Some((kind, body)) => ("200 OK", kind, body),
            None => ("404 Not Found", "text/plain".to_owned(), Vec::new()),
        };
        let length = body.len();
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n\r\n"
        );
        writer.write_all(head.as_bytes()).ok()?;
        if !request.starts_with("HEAD") {
            writer.write_all(&body).ok()?;
        }
    }
}
