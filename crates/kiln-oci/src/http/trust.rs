//! Whom we trust: an authority of our own first, if there is one, then those of the system.
//!
//! The authority's file is read for every new connection, because others replace it. One that cannot be read is told in a
//! warning, and the system's authorities are left.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::OnceCell;

/// The names an authority's certificate has in a directory, the first that is there counts.
const NAMES: [&str; 2] = ["ca.crt", "ca.pem"];
const MAX_FILE: u64 = 4 << 20;

/// Where certificates of authorities come from.
pub(crate) struct Trust {
    directory: Option<PathBuf>,
    system: OnceCell<Arc<ClientConfig>>,
}

/// One idea of whom to trust.
pub(crate) struct Roots {
    pub(crate) name: &'static str,
    pub(crate) config: Arc<ClientConfig>,
}

impl Trust {
    pub(crate) fn new(directory: Option<PathBuf>) -> Trust {
        Trust {
            directory,
            system: OnceCell::new(),
        }
    }

    /// With other authorities than the system's.
    #[cfg(test)]
    pub(crate) fn with_system(directory: Option<PathBuf>, store: RootCertStore) -> Trust {
        Trust {
            directory,
            system: OnceCell::new_with(config(store).ok()),
        }
    }

    /// Those to try, one after the other.
    pub(crate) async fn roots(&self) -> io::Result<Vec<Roots>> {
        let mut all = Vec::new();
        if let Some(directory) = &self.directory {
            match own(directory).await {
                Ok(config) => all.push(Roots {
                    name: "the authority of our own",
                    config,
                }),
                Err(error) => {
                    tracing::warn!(directory = %directory.display(), %error, "cannot use the registry's own certificate authority, trying those of the system");
                }
            }
        }
        let system = self.system.get_or_try_init(system).await?;
        all.push(Roots {
            name: "the authorities of the system",
            config: Arc::clone(system),
        });
        Ok(all)
    }
}

async fn own(directory: &Path) -> io::Result<Arc<ClientConfig>> {
    for name in NAMES {
        let path = directory.join(name);
        let bytes = match crate::file::read(path.clone(), MAX_FILE).await {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            read => read?,
        };
        let mut store = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(&bytes) {
            let certificate = certificate.map_err(io::Error::other)?;
            store.add(certificate).map_err(io::Error::other)?;
        }
        if store.is_empty() {
            let message = format!("{} holds no certificate", path.display());
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        return config(store);
    }
    let message = format!("neither {} nor {} is there", NAMES[0], NAMES[1]);
    Err(io::Error::new(io::ErrorKind::NotFound, message))
}

async fn system() -> io::Result<Arc<ClientConfig>> {
    let loaded = tokio::task::spawn_blocking(|| {
        let mut store = RootCertStore::empty();
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        store
    });
    config(loaded.await.map_err(io::Error::other)?)
}

/// TLS 1.2 and later, HTTP/1.1.
fn config(store: RootCertStore) -> io::Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let mut config = builder.with_root_certificates(store).with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}

/// The name a certificate has to be for.
pub(crate) fn server_name(host: &str) -> io::Result<ServerName<'static>> {
    ServerName::try_from(host.to_owned()).map_err(io::Error::other)
}
