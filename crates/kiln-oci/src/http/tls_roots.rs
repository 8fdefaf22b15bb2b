//! Trusted certificates: a CA of the registry's own, if there is one, then the CAs of the system.
//!
//! The CA file is read for every new connection, because another process may replace it. A file that cannot be read is
//! logged as a warning, and only the CAs of the system are used.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;

/// The file names of a CA certificate in a directory; the first that exists is used.
const CA_FILES: [&str; 2] = ["ca.crt", "ca.pem"];
const MAX_FILE: u64 = 4 << 20;

/// Where CA certificates come from.
pub(crate) struct TlsRoots {
    ca_directory: Option<PathBuf>,
    system: OnceCell<Arc<ClientConfig>>,
}

/// CA certificates to verify a server with.
pub(crate) struct RootSet {
    /// For messages.
    pub(crate) name: &'static str,
    pub(crate) config: Arc<ClientConfig>,
}

impl TlsRoots {
    pub(crate) fn new(ca_directory: Option<PathBuf>) -> TlsRoots {
        TlsRoots {
            ca_directory,
            system: OnceCell::new(),
        }
    }

    /// Replaces the CA certificates of the system.
    #[cfg(test)]
    pub(crate) fn with_system(ca_directory: Option<PathBuf>, roots: RootCertStore) -> TlsRoots {
        TlsRoots {
            ca_directory,
            system: OnceCell::new_with(config(roots).ok()),
        }
    }

    /// The CA certificates to try, in this order.
    pub(crate) async fn sets(&self) -> io::Result<Vec<RootSet>> {
        let mut sets = Vec::new();
        if let Some(directory) = &self.ca_directory {
            match read_ca(directory).await {
                Ok(config) => sets.push(RootSet {
                    name: "the registry's CA",
                    config,
                }),
                Err(error) => {
                    tracing::warn!(directory = %directory.display(), %error, "cannot read the registry's CA certificate, using the CAs of the system");
                }
            }
        }
        let system = self.system.get_or_try_init(read_system).await?;
        sets.push(RootSet {
            name: "the CAs of the system",
            config: Arc::clone(system),
        });
        Ok(sets)
    }
}

async fn read_ca(directory: &Path) -> io::Result<Arc<ClientConfig>> {
    for name in CA_FILES {
        let path = directory.join(name);
        let bytes = match crate::file::read_limited(path.clone(), MAX_FILE).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read?,
        };
        let roots = kiln_tls::roots_from_pem(&bytes).map_err(|error| {
            let message = format!("{}: {error}", path.display());
            io::Error::new(io::ErrorKind::InvalidData, message)
        });
        return config(roots?);
    }
    let message = format!("neither {} nor {} exists", CA_FILES[0], CA_FILES[1]);
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}

async fn read_system() -> io::Result<Arc<ClientConfig>> {
    let roots = tokio::task::spawn_blocking(kiln_tls::system_roots);
    config(roots.await.map_err(io::Error::other)?)
}

fn config(roots: RootCertStore) -> io::Result<Arc<ClientConfig>> {
    let mut config = kiln_tls::client_config(roots, None).map_err(io::Error::other)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The name that the server's certificate must contain.
pub(crate) fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(io::Error::other)
}
