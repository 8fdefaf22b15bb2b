//! Downloads blobs to files, and resumes interrupted downloads.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};

use http::{HeaderMap, HeaderValue, Method, StatusCode, header};

use super::RegistryClient;
use super::repository_endpoint::RepositoryEndpoint;
use super::request::RegistryRequest;
use crate::auth::RepositoryAction;
use crate::digest::DigestHasher;
use crate::error::RegistryError;
use crate::http::read_chunk;
use crate::http::retry::Attempts;
use crate::manifest::Descriptor;
use crate::reference::ImageReference;

/// How much is written at once.
const PIECE: usize = 1 << 20;

/// Why a blob cannot be downloaded to a file.
#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error(transparent)]
    Registry(#[from] RegistryError),
    #[error("cannot read or write the file of the download")]
    File(#[source] io::Error),
}

impl RegistryClient {
    /// Downloads a blob to a file and checks its size and digest. If the file has the beginning of the blob from an earlier
    /// attempt, only the rest is requested. `received` is called with the number of bytes that arrived. After an error, the file has
    /// the part of the blob that arrived, or is empty.
    pub async fn download(
        &self,
        reference: &ImageReference,
        descriptor: &Descriptor,
        file: File,
        received: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<(), DownloadError> {
        let endpoint = RepositoryEndpoint::new(reference);
        let Descriptor { digest, size, .. } = descriptor;
        let request = RegistryRequest::new(
            Method::GET,
            format!("blobs/{digest}"),
            RepositoryAction::Pull,
            format!("blob {digest} of {reference}"),
        );
        let (hasher, size) = (digest.hasher(), *size);
        let mut part = blocking(move || PartialBlob::open(file, hasher, size)).await?;
        let mut is_resumed = part.length > 0;
        let mut attempts = Attempts::new(&self.state.options.retry);
        let mut length_before = part.length;
        loop {
            let fetched;
            (part, fetched) = self
                .fetch_rest(&endpoint, &request, size, part, received)
                .await?;
            if let Err(error) = fetched {
                // An attempt that got somewhere starts the count of attempts anew.
                if part.length >= length_before.saturating_add(PIECE as u64) {
                    attempts = Attempts::new(&self.state.options.retry);
                }
                length_before = part.length;
                attempts.wait_or_fail(error).await?;
                continue;
            }
            let actual = part.hasher.clone().finish();
            if actual == *digest {
                return Ok(());
            }
            part = blocking(move || part.restart()).await?;
            if !std::mem::take(&mut is_resumed) {
                return Err(RegistryError::Digest {
                    subject: request.subject,
                    expected: digest.clone(),
                    actual,
                }
                .into());
            }
            // What an earlier attempt left may have been damaged.
        }
    }

    /// Requests what a file lacks. The inner error may be one that a further attempt avoids.
    async fn fetch_rest(
        &self,
        endpoint: &RepositoryEndpoint,
        request: &RegistryRequest,
        size: u64,
        mut part: PartialBlob,
        received: &(dyn Fn(u64) + Send + Sync),
    ) -> Result<(PartialBlob, Result<(), RegistryError>), DownloadError> {
        if part.length == size {
            return Ok((part, Ok(())));
        }
        let (url, response) = loop {
            let request = request_from(request, part.length);
            match self.send_authenticated(endpoint, &request).await {
                Ok(sent) => break sent,
                Err(RegistryError::Status { status, .. })
                    if status == StatusCode::RANGE_NOT_SATISFIABLE && part.length > 0 =>
                {
                    part = blocking(move || part.restart()).await?;
                }
                Err(error) => return Ok((part, Err(error))),
            }
        };
        let (head, mut body) = response.into_parts();
        if part.length > 0 && !continues(head.status, &head.headers, part.length) {
            part = blocking(move || part.restart()).await?;
        }
        let mut piece = Vec::new();
        loop {
            let chunk = read_chunk(&mut body, &url).await;
            let end = match chunk {
                Ok(Some(bytes)) => {
                    received(bytes.len() as u64);
                    piece.extend_from_slice(&bytes);
                    None
                }
                Ok(None) => Some(Ok(())),
                Err(error) => Some(Err(error)),
            };
            let length = part.length + piece.len() as u64;
            if length > size {
                return Err(wrong_size(request, size, length).into());
            }
            if end.is_some() || piece.len() >= PIECE {
                let bytes = std::mem::take(&mut piece);
                part = blocking(move || part.write(&bytes)).await?;
            }
            match end {
                None => {}
                Some(Ok(())) if length < size => {
                    return Err(wrong_size(request, size, length).into());
                }
                Some(end) => return Ok((part, end)),
            }
        }
    }
}

fn wrong_size(request: &RegistryRequest, expected: u64, actual: u64) -> RegistryError {
    RegistryError::Size {
        subject: request.subject.clone(),
        expected,
        actual,
    }
}

/// A request for what follows an offset.
fn request_from(request: &RegistryRequest, offset: u64) -> RegistryRequest {
    let mut request = request.clone();
    if offset > 0
        && let Ok(range) = HeaderValue::from_str(&format!("bytes={offset}-"))
    {
        request.headers.push((header::RANGE, range));
    }
    request
}

/// Whether a response starts at an offset: some registries ignore the request for a range.
fn continues(status: StatusCode, headers: &HeaderMap, offset: u64) -> bool {
    let range = headers.get(header::CONTENT_RANGE);
    let start = range
        .and_then(|range| range.to_str().ok()?.strip_prefix("bytes "))
        .and_then(|range| range.split_once('-')?.0.trim().parse::<u64>().ok());
    status == StatusCode::PARTIAL_CONTENT && start == Some(offset)
}

/// A file with the beginning of a blob, and the state of its hash.
struct PartialBlob {
    file: File,
    length: u64,
    hasher: DigestHasher,
    empty_hasher: DigestHasher,
}

impl PartialBlob {
    fn open(mut file: File, empty_hasher: DigestHasher, size: u64) -> io::Result<PartialBlob> {
        if file.metadata()?.len() > size {
            file.set_len(0)?;
        }
        file.seek(SeekFrom::Start(0))?;
        let mut hasher = empty_hasher.clone();
        let mut length = 0;
        let mut buffer = vec![0; 128 << 10];
        loop {
            let read = file.read(&mut buffer)?;
            if read == 0 {
                break;
            }
            hasher.update(buffer.get(..read).unwrap_or_default());
            length += read as u64;
        }
        Ok(PartialBlob {
            file,
            length,
            hasher,
            empty_hasher,
        })
    }

    fn write(mut self, bytes: &[u8]) -> io::Result<PartialBlob> {
        self.file.write_all(bytes)?;
        self.hasher.update(bytes);
        self.length += bytes.len() as u64;
        Ok(self)
    }

    fn restart(mut self) -> io::Result<PartialBlob> {
        self.file.set_len(0)?;
        self.file.seek(SeekFrom::Start(0))?;
        self.hasher = self.empty_hasher.clone();
        self.length = 0;
        Ok(self)
    }
}

/// Reads, writes and hashes on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, DownloadError> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(io::Error::other(error)))
        .map_err(DownloadError::File)
}
