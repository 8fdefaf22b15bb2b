//! Key files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use kiln_signature::{PublicKey, PublicKeyError};

/// The largest key file, in bytes.
const MAX_KEY_FILE: u64 = 64 << 10;

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    #[error("cannot read the key file {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("the key file {} is larger than the limit of {MAX_KEY_FILE} bytes", path.display())]
    TooLarge { path: PathBuf },
    #[error("cannot use the key file {}", path.display())]
    Key {
        path: PathBuf,
        source: PublicKeyError,
    },
}

/// Reads a public key from a PEM file. The key has the name of the file.
pub fn read_public_key(path: &Path) -> Result<PublicKey, KeyFileError> {
    let read = || -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut file = File::open(path)?.take(MAX_KEY_FILE + 1);
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let path = path.to_owned();
    match read() {
        Err(source) => Err(KeyFileError::Read { path, source }),
        Ok(bytes) if bytes.len() as u64 > MAX_KEY_FILE => Err(KeyFileError::TooLarge { path }),
        Ok(bytes) => PublicKey::from_pem(&path.display().to_string(), &bytes)
            .map_err(|source| KeyFileError::Key { path, source }),
    }
}
