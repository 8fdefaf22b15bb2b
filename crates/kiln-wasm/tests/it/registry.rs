//! A registry of a few lines that takes pushes.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use kiln_oci::Digest;

/// Type and body by path.
type Contents = Arc<Mutex<BTreeMap<String, (String, Vec<u8>)>>>;

pub(crate) struct TestRegistry {
    pub(crate) host: String,
    contents: Contents,
    requests: Arc<Mutex<Vec<String>>>,
}

impl TestRegistry {
    pub(crate) fn start() -> TestRegistry {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let registry = TestRegistry {
            host: listener.local_addr().unwrap().to_string(),
            contents: Contents::default(),
            requests: Arc::default(),
        };
        let contents = Arc::clone(&registry.contents);
        let requests = Arc::clone(&registry.requests);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (contents, requests) = (Arc::clone(&contents), Arc::clone(&requests));
                std::thread::spawn(move || serve(stream, &contents, &requests));
            }
        });
        registry
    }

    /// How many requests there were.
    pub(crate) fn requests(&self) -> usize {
        self.requests.lock().unwrap().len()
    }

    /// Puts a manifest under a tag and its digest; returns the digest.
    pub(crate) fn put_manifest(
        &self,
        repository: &str,
        tag: &str,
        media_type: &str,
        manifest: &str,
    ) -> String {
        let digest = Digest::of(manifest.as_bytes()).to_string();
        for name in [tag, &digest] {
            self.put(
                &format!("/v2/{repository}/manifests/{name}"),
                media_type,
                manifest.as_bytes(),
            );
        }
        digest
    }

    /// Puts a blob; returns a descriptor of it.
    pub(crate) fn put_blob(&self, repository: &str, media_type: &str, bytes: &[u8]) -> String {
        let digest = Digest::of(bytes);
        self.put(
            &format!("/v2/{repository}/blobs/{digest}"),
            media_type,
            bytes,
        );
        format!(
            r#"{{"mediaType":"{media_type}","digest":"{digest}","size":{}}}"#,
            bytes.len()
        )
    }

    /// The type of a manifest.
    pub(crate) fn media_type(&self, repository: &str, tag: &str) -> String {
        let contents = self.contents.lock().unwrap();
        let (media_type, _) = &contents[&format!("/v2/{repository}/manifests/{tag}")];
        media_type.clone()
    }

    fn put(&self, path: &str, media_type: &str, bytes: &[u8]) {
        let content = (media_type.to_owned(), bytes.to_vec());
        self.contents
            .lock()
            .unwrap()
            .insert(path.to_owned(), content);
    }
}

fn serve(mut stream: TcpStream, contents: &Contents, requests: &Mutex<Vec<String>>) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    let mut words = line.split(' ');
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (mut length, mut media_type) = (0, String::new());
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let Some((name, value)) = header.trim().split_once(':') else {
            break;
        };
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().ok()?,
            "content-type" => media_type = value.trim().to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    requests.lock().unwrap().push(format!("{method} {target}"));
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let mut contents = contents.lock().unwrap();
    let mut answer = |status: &str, headers: &str, body: &[u8]| {
        let head = format!(
            "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        if method != "HEAD" {
            stream.write_all(body).ok()?;
        }
        Some(())
    };
    match method.as_str() {
        "POST" => answer("202 Accepted", &format!("Location: {path}upload\r\n"), b""),
        "PUT" if path.ends_with("/upload") => {
            let digest = query.split("digest=").nth(1)?.replace("%3A", ":");
            let repository = path.strip_suffix("blobs/uploads/upload")?;
            contents.insert(format!("{repository}blobs/{digest}"), (media_type, body));
            answer("201 Created", "", b"")
        }
        "PUT" => {
            let directory = path.rsplit_once('/')?.0;
            let by_digest = format!("{directory}/{}", Digest::of(&body));
            contents.insert(by_digest, (media_type.clone(), body.clone()));
            contents.insert(path.to_owned(), (media_type, body));
            answer("201 Created", "", b"")
        }
        _ => match contents.get(path) {
            Some((media_type, body)) => {
                answer("200 OK", &format!("Content-Type: {media_type}\r\n"), body)
            }
            None => answer("404 Not Found", "", b""),
        },
    }
}
