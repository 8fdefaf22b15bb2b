//! Images into a registry.

use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use kiln_oci::{Keychain, Layout, PlainHttp, Proxies, Reference, Registry, RegistryOptions};

/// The registry, and how it is talked to.
#[derive(clap::Args)]
pub struct Target {
    /// Push the images there
    #[arg(long = "push", value_name = "HOST[:PORT][/PREFIX]")]
    place: Option<String>,
    /// Talk to that registry in clear if it does not speak TLS, and show it the password even then
    #[arg(long, requires = "place")]
    plain_http: bool,
    /// A directory with the certificate of the registry's own authority (`ca.crt` or `ca.pem`)
    #[arg(long, value_name = "DIRECTORY", requires = "place")]
    authority: Option<PathBuf>,
}

/// Pushes images if there is somewhere to push them to.
pub(super) fn push(target: &Target, images: &[(&str, Layout)], tag: &str) -> Result<()> {
    let Some(place) = &target.place else {
        return Ok(());
    };
    let place = place.trim_end_matches('/');
    let host = place.split('/').next().unwrap_or(place);
    let mut options = RegistryOptions {
        keychain: Keychain::docker(std::env::var_os("DOCKER_CONFIG"), std::env::var_os("HOME")),
        authority: target.authority.clone(),
        proxies: Proxies::from_variables(|name| std::env::var(name).ok())?,
        ..RegistryOptions::default()
    };
    if target.plain_http {
        options.plain_http = BTreeMap::from([(host.to_owned(), PlainHttp::WithCredentials)]);
    }
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build()?;
    runtime.block_on(async {
        let registry = Registry::new(options);
        for (name, layout) in images {
            let reference: Reference = format!("{place}/{name}:{tag}").parse()?;
            let root = layout.roots().first().context("an image that is none")?;
            let digest = registry.push(&reference, layout, root).await?;
            writeln!(io::stdout(), "{reference}@{digest}")?;
        }
        Ok(())
    })
}
