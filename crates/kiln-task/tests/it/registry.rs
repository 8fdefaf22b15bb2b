//! A registry of a few lines, and Debian's where that is installed.
//!
//! The tests of the command line use this file too.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use daemon::Daemon;
use kiln_oci::{
    ImageLayout, ImageSpec, Manifest, Platform, RegistryClient, RegistryOptions, RunConfig,
    add_image,
};

#[path = "../../../kiln-oci/tests/it/daemon.rs"]
mod daemon;

/// A registry for one test.
pub(crate) struct TestRegistry {
    /// Host and port.
    pub(crate) host: String,
    kind: Kind,
}

enum Kind {
    Scripted(Answers),
    Program {
        _daemon: Daemon,
        _directory: tempfile::TempDir,
    },
}

/// Type and body by path.
type Answers = Arc<Mutex<BTreeMap<String, (String, Vec<u8>)>>>;

/// The credentials of a registry with a password, as `name:password` in base64.
pub(crate) const ROBOT: &str = "cm9ib3Q6c2VjcmV0";

impl TestRegistry {
    /// One that answers until the test is over.
    pub(crate) fn scripted() -> TestRegistry {
        TestRegistry::answering(None)
    }

    /// The same, with the password of [`ROBOT`].
    pub(crate) fn guarded() -> TestRegistry {
        TestRegistry::answering(Some(ROBOT))
    }

    fn answering(password: Option<&'static str>) -> TestRegistry {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let host = listener.local_addr().expect("it has one").to_string();
        let answers = Answers::default();
        let shared = Arc::clone(&answers);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let answers = Arc::clone(&shared);
                std::thread::spawn(move || answer(&stream, &answers, password));
            }
        });
        TestRegistry {
            host,
            kind: Kind::Scripted(answers),
        }
    }

    /// A real one; none, and a loud word about it, if it is not installed.
    pub(crate) fn program() -> Option<TestRegistry> {
        let directory = tempfile::tempdir().expect("a directory can be made");
        let daemon = Daemon::start(directory.path(), "")?;
        Some(TestRegistry {
            host: daemon.host.clone(),
            kind: Kind::Program {
                _daemon: daemon,
                _directory: directory,
            },
        })
    }

    /// Puts an image of layers there; its digest.
    pub(crate) fn push(&self, repository: &str, tag: &str, layers: Vec<Vec<u8>>) -> String {
        let mut layout = ImageLayout::default();
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
                let registry = RegistryClient::new(RegistryOptions::default());
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

fn list_tags(answers: &mut BTreeMap<String, (String, Vec<u8>)>, repository: &str) {
    let prefix = format!("/v2/{repository}/manifests/");
    let names = answers.keys().filter_map(|path| path.strip_prefix(&prefix));
    let tags: Vec<&str> = names.filter(|name| !name.contains(':')).collect();
    let body = format!("{{\"name\":{repository:?},\"tags\":{tags:?}}}");
    let path = format!("/v2/{repository}/tags/list");
    answers.insert(path, ("application/json".to_owned(), body.into_bytes()));
}

fn answer(stream: &TcpStream, answers: &Answers, password: Option<&str>) -> Option<()> {
    let mut lines = BufReader::new(stream).lines();
    let mut writer = stream;
    loop {
        let request = lines.next()?.ok()?;
        let mut is_known = password.is_none();
        loop {
            let header = lines.next()?.ok()?;
            if header.is_empty() {
                break;
            }
            let basic = header.rsplit_once("Basic ").map(|(_, given)| given);
            is_known |= basic.is_some() && basic == password;
        }
        let path = request.split(' ').nth(1)?;
        let found = answers.lock().ok()?.get(path).cloned();
        let nothing = || ("text/plain".to_owned(), Vec::new());
        let (status, (kind, body)) = match found {
            _ if !is_known => (
                "401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"test\"",
                nothing(),
            ),
            Some(answer) => ("200 OK", answer),
            None => ("404 Not Found", nothing()),
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
