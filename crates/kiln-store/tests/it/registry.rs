//! A registry in this process, which counts requests and can misbehave.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use kiln_oci::{
    Descriptor, ImageLayout, ImageReference, Manifest, RegistryClient, RegistryOptions, RetryPolicy,
};

/// A registry. Clones share their content.
#[derive(Clone)]
pub(crate) struct TestRegistry {
    /// Host and port.
    pub(crate) host: String,
    content: Arc<Mutex<Content>>,
    gate: Arc<Gate>,
}

/// Holds answers back until so many requests wait for them.
#[derive(Default)]
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

#[derive(Default)]
struct GateState {
    /// How many requests have to wait before the first one is answered.
    wanted: usize,
    waiting: usize,
    most: usize,
}

#[derive(Default)]
struct Content {
    /// Media type and body by path.
    answers: HashMap<String, (String, Vec<u8>)>,
    /// The paths of layers.
    layers: HashSet<String>,
    /// `PATH` or `PATH RANGE`.
    requests: Vec<String>,
    behaviour: HashMap<String, Behaviour>,
    is_away: bool,
}

/// How a blob is served.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Behaviour {
    /// The connection ends after so many bytes, once.
    CutAfter(usize),
    /// Ranges are ignored.
    Whole,
    /// Ranges are refused.
    NoRange,
    /// The status, with a text for people.
    Status(u16),
}

impl TestRegistry {
    pub(crate) fn start() -> TestRegistry {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let registry = TestRegistry {
            host: listener.local_addr().unwrap().to_string(),
            content: Arc::default(),
            gate: Arc::default(),
        };
        let serving = registry.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let serving = serving.clone();
                std::thread::spawn(move || serving.serve(stream));
            }
        });
        registry
    }

    pub(crate) fn client(&self) -> RegistryClient {
        let mut options = RegistryOptions {
            retry: RetryPolicy {
                attempts: 3,
                first_delay: std::time::Duration::from_millis(1),
                ..RetryPolicy::default()
            },
            ..RegistryOptions::default()
        };
        options.limits.blob = 1 << 30;
        RegistryClient::new(options)
    }

    pub(crate) fn reference(&self, name: &str) -> ImageReference {
        format!("{}/{name}", self.host).parse().unwrap()
    }

    /// Adds an image as `repository:tag`.
    pub(crate) fn add(&self, name: &str, layout: &ImageLayout, root: &Descriptor) {
        let (repository, tag) = name.split_once(':').unwrap();
        let mut content = self.lock();
        for stored in layout.manifests_below(root).unwrap() {
            let Descriptor {
                digest, media_type, ..
            } = &stored.descriptor;
            let answer = (media_type.clone(), stored.bytes.to_vec());
            let mut names = vec![digest.as_str()];
            if *digest == root.digest {
                names.push(tag);
            }
            for name in names {
                let path = format!("/v2/{repository}/manifests/{name}");
                content.answers.insert(path, answer.clone());
            }
            if let Manifest::Image(image) = &stored.manifest {
                for blob in image.layers.iter().chain([&image.config]) {
                    let bytes = layout.blob(&blob.digest).unwrap().to_vec();
                    let path = format!("/v2/{repository}/blobs/{}", blob.digest);
                    if blob.digest != image.config.digest {
                        content.layers.insert(path.clone());
                    }
                    content.answers.insert(path, (String::new(), bytes));
                }
            }
        }
    }

    /// Adds answers: path, media type and body.
    pub(crate) fn put(&self, files: Vec<(String, &'static str, String)>) {
        let mut content = self.lock();
        for (path, media_type, body) in files {
            let answer = (media_type.to_owned(), body.into_bytes());
            content.answers.insert(path, answer);
        }
    }

    /// Replaces the body of what a path ends with.
    pub(crate) fn replace(&self, path_end: &str, body: &[u8]) {
        let mut content = self.lock();
        let answer = content
            .answers
            .iter_mut()
            .find(|(path, _)| path.ends_with(path_end));
        answer.unwrap().1.1 = body.to_vec();
    }

    pub(crate) fn behave(&self, path_end: &str, behaviour: Behaviour) {
        self.lock().behaviour.insert(path_end.to_owned(), behaviour);
    }

    /// Answers no request for a layer before `count` of them wait.
    pub(crate) fn hold_until(&self, count: usize) {
        self.gate.lock().wanted = count;
    }

    /// How many requests for layers were being answered at once.
    pub(crate) fn most_at_once(&self) -> usize {
        self.gate.lock().most
    }

    /// Closes all connections without an answer from now on.
    pub(crate) fn go_away(&self) {
        self.lock().is_away = true;
    }

    /// The requests since the last call, sorted.
    pub(crate) fn requests(&self) -> Vec<String> {
        let mut requests = std::mem::take(&mut self.lock().requests);
        requests.sort();
        requests
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Answers the requests of one connection.
    fn serve(&self, stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut stream = stream;
        loop {
            let mut line = String::new();
            // A client that tries TLS does not send text.
            if !matches!(reader.read_line(&mut line), Ok(1..)) {
                return;
            }
            let mut words = line.split(' ');
            let (Some("GET"), Some(path)) = (words.next(), words.next()) else {
                return;
            };
            let path = path.to_owned();
            let mut range = None;
            loop {
                let mut header = String::new();
                if !matches!(reader.read_line(&mut header), Ok(1..)) {
                    return;
                }
                let header = header.trim().to_lowercase();
                if header.is_empty() {
                    break;
                }
                if let Some(value) = header.strip_prefix("range: bytes=") {
                    range = value.trim_end_matches('-').parse::<usize>().ok();
                }
            }
            let is_layer = self.lock().layers.contains(&path);
            if is_layer {
                self.gate.enter();
            }
            let answered = self.answer(&mut stream, &path, range);
            if is_layer {
                self.gate.lock().waiting -= 1;
            }
            if answered.is_none() {
                return;
            }
        }
    }

    fn answer(&self, stream: &mut TcpStream, path: &str, range: Option<usize>) -> Option<()> {
        let (answer, behaviour) = {
            let mut content = self.lock();
            if content.is_away {
                return None;
            }
            content.requests.push(match range {
                Some(range) => format!("{path} from {range}"),
                None => path.to_owned(),
            });
            let key = content
                .behaviour
                .keys()
                .find(|end| path.ends_with(end.as_str()))
                .cloned();
            let behaviour = key.and_then(|key| {
                let behaviour = content.behaviour.get(&key).copied();
                if matches!(behaviour, Some(Behaviour::CutAfter(_))) {
                    content.behaviour.remove(&key);
                }
                behaviour
            });
            (content.answers.get(path).cloned(), behaviour)
        };
        if let Some(Behaviour::Status(status)) = behaviour {
            let head = format!("HTTP/1.1 {status} Text\r\ncontent-length: 2\r\n\r\nno");
            return stream.write_all(head.as_bytes()).ok();
        }
        let Some((media_type, body)) = answer else {
            let head = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n";
            return stream.write_all(head.as_bytes()).ok();
        };
        let range = range.filter(|_| behaviour != Some(Behaviour::Whole));
        if range.is_some() && behaviour == Some(Behaviour::NoRange) {
            let head = "HTTP/1.1 416 Range Not Satisfiable\r\ncontent-length: 0\r\n\r\n";
            return stream.write_all(head.as_bytes()).ok();
        }
        let rest = &body[range.unwrap_or(0)..];
        let status = match range {
            Some(range) => format!(
                "206 Partial Content\r\ncontent-range: bytes {range}-{}/{}",
                body.len() - 1,
                body.len()
            ),
            None => "200 OK".to_owned(),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {media_type}\r\ncontent-length: {}\r\n\r\n",
            rest.len()
        );
        stream.write_all(head.as_bytes()).ok()?;
        if let Some(Behaviour::CutAfter(length)) = behaviour {
            stream.write_all(&rest[..length]).ok()?;
            return None;
        }
        stream.write_all(rest).ok()
    }
}

impl Gate {
    fn lock(&self) -> MutexGuard<'_, GateState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until enough requests are here, the first time.
    fn enter(&self) {
        let mut state = self.lock();
        state.waiting += 1;
        state.most = state.most.max(state.waiting);
        if state.waiting >= state.wanted {
            state.wanted = 0;
        }
        self.changed.notify_all();
        while state.wanted > 0 {
            let waited = self.changed.wait(state);
            state = waited.unwrap_or_else(PoisonError::into_inner);
        }
    }
}
