//! Images in registries: a reference leads to a digest, that to a manifest for a platform, that to a config and layers.
//!
//! [`Registry`] reads and writes, [`ImageCache`] remembers what images are, [`Layout`] holds images outside of registries,
//! [`LayerBuilder`] makes them. Everything that is read is checked against its digest; nothing is larger than [`Limits`] say;
//! credentials go to nobody but those they are for, and never in clear unless that was allowed.
//!
//! What images are for is none of this crate's business, and neither is the environment: programs say where files are.

mod auth;
mod build;
mod cache;
mod config;
mod credentials;
mod digest;
mod error;
mod file;
mod http;
mod layer;
mod layout;
mod manifest;
pub mod media_type;
mod platform;
mod proxy;
mod reference;
mod registry;
mod said;
#[cfg(test)]
mod tests;

pub use build::{BuildError, ImageSpec, LayerBuilder, add_image};
pub use cache::{CacheOptions, ImageCache};
pub use config::{ImageConfig, RootFs, RunConfig};
pub use credentials::{
    CredentialError, Credentials, DockerConfig, DockerConfigError, HelperError, Keychain,
};
pub use digest::{Digest, DigestError};
pub use error::{ErrorClass, RegistryError};
pub use http::retry::RetryPolicy;
pub use layer::{LayerError, LayerReader};
pub use layout::{ArchiveLimits, Layout, LayoutError, REF_NAME, read_archive, write_archive};
pub use manifest::{Descriptor, ImageManifest, Index, Manifest, ManifestError, StoredManifest};
pub use platform::{Platform, PlatformError, select_platform};
pub use proxy::{Proxies, Proxy, ProxyError};
pub use reference::{Reference, ReferenceError};
pub use registry::{
    Image, Limits, Mirror, MirrorError, PlainHttp, PushError, Registry, RegistryOptions,
};
pub use said::JsonError;
