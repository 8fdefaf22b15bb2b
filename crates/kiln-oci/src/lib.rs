//! Images in registries: a reference resolves to a digest, a manifest for a platform, a config and layers.
//!
//! [`RegistryClient`] pulls and pushes, [`ImageCache`] caches resolved images, [`ImageLayout`] holds images outside of
//! registries, [`LayerBuilder`] builds them. Everything that is read is checked against its digest and limited by
//! [`RegistryLimits`]; credentials are sent only to the registry they belong to, and over plain HTTP only if that is allowed.
//!
//! Deliberately absent: what images are used for, and the environment; programs pass in paths and variables.

mod auth;
mod build;
mod cache;
mod config;
mod credentials;
mod digest;
mod error;
mod excerpt;
mod file;
mod http;
mod layer;
mod layout;
mod manifest;
pub mod media_type;
mod platform;
mod proxy;
mod pull_policy;
mod reference;
mod registry;
#[cfg(test)]
mod tests;

pub use build::{BuildError, ImageSpec, LayerBuilder, add_image, compress_layer};
pub use cache::{CacheOptions, ImageCache};
pub use config::{ImageConfig, RootFs, RunConfig};
pub use credentials::{CredentialError, DockerConfig, DockerConfigError, HelperError, Keychain};
pub use digest::{Digest, DigestError, DigestHasher};
pub use error::{ErrorClass, RegistryError};
pub use excerpt::InvalidJson;
pub use http::retry::RetryPolicy;
pub use layer::{LayerFormatError, LayerReader};
pub use layout::{ArchiveLimits, ImageLayout, LayoutError, read_archive, write_archive};
pub use manifest::{
    Descriptor, ImageIndex, ImageManifest, Manifest, ManifestError, StoredManifest,
};
pub use platform::{Platform, PlatformError, select_platform};
pub use proxy::{Proxies, Proxy, ProxyError};
pub use pull_policy::PullPolicy;
pub use reference::{ImageReference, ImageReferenceError, is_local};
pub use registry::{
    DownloadError, FoundSignatures, PlainHttp, PushError, RegistryClient, RegistryLimits,
    RegistryOptions, ResolvedImage, SignatureBlob, SignatureLimits,
};
