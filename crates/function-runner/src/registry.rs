//! Access to registries, with the credentials that the flags configure.

use anyhow::{Context as _, Result};
use kiln_oci::{Keychain, Proxies, RegistryOptions};

use crate::config::RunnerConfig;
use crate::environment::Environment;

/// Registry of the older catalog; it is public, like the default one.
const OLDER_CATALOG: &str = "gcr.io/kpt-fn";

/// Public images use the local Docker keychain, all other images the configured secret.
pub(crate) fn options(config: &RunnerConfig, environment: &Environment) -> Result<RegistryOptions> {
    let pods = &config.pods;
    let variable = |name: &str| environment.get(name).cloned();
    let docker = Keychain::docker(variable("DOCKER_CONFIG"), variable("HOME"));
    let keychain = match pods.private_registries {
        true => {
            let public = [OLDER_CATALOG, config.default_image_prefix.as_str()];
            let public = public.map(|prefix| (prefix.to_owned(), docker.clone()));
            let private = Keychain::file(pods.registry_auth_path.clone());
            Keychain::routed(public.to_vec(), private)
        }
        false => docker,
    };
    let text = |name: &str| Some(environment.get(name)?.to_string_lossy().into_owned());
    let authority = pods.private_registries_tls;
    Ok(RegistryOptions {
        keychain,
        proxies: Proxies::from_variables(text)
            .context("cannot use the proxies of the environment")?,
        ca_directory: authority.then(|| pods.tls_secret_path.clone()),
        ..RegistryOptions::default()
    })
}
