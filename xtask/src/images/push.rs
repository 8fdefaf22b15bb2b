//! Pushes images to a registry, and pins them in the package of `deploy/`.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use kiln_oci::{
    ImageLayout, ImageReference, Keychain, PlainHttp, Proxies, RegistryClient, RegistryOptions,
};

/// The registry to push to.
#[derive(clap::Args)]
pub struct Target {
    /// Push the images to this registry
    #[arg(long = "push", value_name = "HOST[:PORT][/PREFIX]")]
    registry: Option<String>,
    /// Use plain HTTP if the registry does not support TLS, and send credentials over it
    #[arg(long, requires = "registry")]
    plain_http: bool,
    /// A directory with the CA certificate of the registry (`ca.crt` or `ca.pem`)
    #[arg(long, value_name = "DIRECTORY", requires = "registry")]
    authority: Option<PathBuf>,
    /// Write the pushed images with their digests into `setters.yaml` of this copy of deploy/kubernetes
    #[arg(long, value_name = "DIRECTORY", requires = "registry")]
    pin: Option<PathBuf>,
}

/// The setters of `deploy/kubernetes` that name images.
const SETTERS: [(&str, &str); 2] = [
    ("function-runner", "runner-image"),
    ("wrapper-server", "wrapper-image"),
];

/// Pushes images if a registry is given.
pub(crate) fn push(target: &Target, images: &[(&str, ImageLayout)], tag: &str) -> Result<()> {
    let Some(prefix) = &target.registry else {
        return Ok(());
    };
    let prefix = prefix.trim_end_matches('/');
    let host = prefix.split('/').next().unwrap_or(prefix);
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
    let pushed = runtime.block_on(async {
        let mut pushed = BTreeMap::new();
        let registry = RegistryClient::new(options);
        for (name, layout) in images {
            let reference: ImageReference = format!("{prefix}/{name}:{tag}").parse()?;
            let root = layout.roots().first().context("the layout has no image")?;
            let digest = registry.push(&reference, layout, root).await?;
            let pinned = format!("{reference}@{digest}");
            writeln!(io::stdout(), "{pinned}")?;
            pushed.insert(*name, pinned);
        }
        anyhow::Ok(pushed)
    })?;
    match &target.pin {
        Some(package) => pin(package, &pushed),
        None => Ok(()),
    }
}

/// Writes images into the setters of a package.
fn pin(package: &Path, pushed: &BTreeMap<&str, String>) -> Result<()> {
    let path = package.join("setters.yaml");
    let text = fs::read_to_string(&path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    let text = pinned(&text, pushed).with_context(|| format!("cannot pin {}", path.display()))?;
    fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The setters with the images that were pushed.
pub(super) fn pinned(setters: &str, pushed: &BTreeMap<&str, String>) -> Result<String> {
    let mut lines: Vec<String> = setters.lines().map(str::to_owned).collect();
    for (image, setter) in SETTERS {
        let reference = pushed.get(image);
        let reference = reference.with_context(|| format!("{image} was not pushed"))?;
        let key = format!("{setter}:");
        let mut found = lines
            .iter_mut()
            .filter(|line| line.trim_start().starts_with(&key));
        let line = found
            .next()
            .with_context(|| format!("there is no setter {setter}"))?;
        let indent = line.len() - line.trim_start().len();
        *line = format!("{}{key} {reference}", &line[..indent]);
    }
    Ok(lines.into_iter().map(|line| line + "\n").collect())
}
