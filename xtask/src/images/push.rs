//! Pushes images to a registry.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use kiln_oci::{
    ImageLayout, ImageReference, Keychain, PlainHttp, Proxies, RegistryClient, RegistryOptions,
};

/// The registry to push to.
#[derive(clap::Args)]
pub struct Target {
    /// Push the images to this registry
    #[arg(long = "push", value_name = "HOST[:PORT][/PREFIX]")]
    place: Option<String>,
    /// Use plain HTTP if the registry does not support TLS, and send credentials over it
    #[arg(long, requires = "place")]
    plain_http: bool,
    /// A directory with the CA certificate of the registry (`ca.crt` or `ca.pem`)
    #[arg(long, value_name = "DIRECTORY", requires = "place")]
    authority: Option<PathBuf>,
}

/// Pushes images if a registry is given.
pub(super) fn push(target: &Target, images: &[(&str, ImageLayout)], tag: &str) -> Result<()> {
    let Some(place) = &target.place else {
        return Ok(());
    };
    let place = place.trim_end_matches('/');
    let host = place.split('/').next().unwrap_or(place);
    let mut options = RegistryOptions {
        keychain: Keychain::docker(std::env::var_os("DOCKER_CONFIG"), std::env::var_os("HOME")),
        ca_directory: target.authority.clone(),
        proxies: Proxies::from_variables(|name| std::env::var(name).ok())?,
        ..RegistryOptions::default()
    };
    if target.plain_http {
        options.plain_http = BTreeMap::from([(host.to_owned(), PlainHttp::WithCredentials)]);
    }
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build()?;
    runtime.block_on(async {
        let registry = RegistryClient::new(options);
        for (name, layout) in images {
            let reference: ImageReference = format!("{place}/{name}:{tag}").parse()?;
            let root = layout.roots().first().context("the layout has no image")?;
            let digest = registry.push(&reference, layout, root).await?;
            writeln!(io::stdout(), "{reference}@{digest}")?;
        }
        Ok(())
    })
}
