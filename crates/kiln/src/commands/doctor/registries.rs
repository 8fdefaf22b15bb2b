//! Registries that have credentials in Docker's configuration: whether the file can be read, and whether they respond.

use std::path::PathBuf;
use std::time::Duration;

use futures_util::future::join_all;
use kiln_go::error_chain;
use kiln_oci::{
    ImageReference, Keychain, RegistryClient, RegistryError, RegistryOptions, RetryPolicy,
};

use super::{CheckStatus, DoctorCheck};
use crate::environment::{DOCKER_CONFIG, HOME};
use crate::functions::registry_tags::registry_options;
use crate::image_store::async_runtime;

/// How long registries may take to respond, all at the same time.
const TIMEOUT: Duration = Duration::from_secs(3);

/// A repository that no registry needs to have: any answer shows that the registry responds.
const NO_REPOSITORY: &str = "kiln/doctor";

/// The credentials, and each registry that has some.
pub(super) fn checks() -> Vec<DoctorCheck> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let directory = variable(DOCKER_CONFIG).map(PathBuf::from);
    let directory = directory.or_else(|| Some(PathBuf::from(variable(HOME)?).join(".docker")));
    let Some(path) = directory.map(|directory| directory.join("config.json")) else {
        return Vec::new();
    };
    let credentials = |status, detail, fix| check("credentials", status, detail, fix);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let detail = format!(
                "{} does not exist: registries are used without credentials",
                path.display()
            );
            return vec![credentials(CheckStatus::Ok, detail, None)];
        }
        Err(error) => {
            let detail = format!("{}: {error}", path.display());
            let fix = Some("let your user read the file");
            return vec![credentials(CheckStatus::Missing, detail, fix)];
        }
    };
    let config: serde_json::Value = match serde_json::from_slice(&bytes) {
        Ok(config) => config,
        Err(error) => {
            let detail = format!("{}: {error}", path.display());
            let fix = Some("correct the file, or remove it and log in again");
            return vec![credentials(CheckStatus::Missing, detail, fix)];
        }
    };
    let keys = |field: &str| {
        let object = config.get(field).and_then(serde_json::Value::as_object);
        object.map(|object| object.keys().cloned().collect::<Vec<_>>())
    };
    let mut names = keys("auths").unwrap_or_default();
    names.extend(keys("credHelpers").unwrap_or_default());
    names.sort();
    names.dedup();
    let mut hosts: Vec<String> = names.iter().map(|name| host(name)).collect();
    hosts.sort();
    hosts.dedup();
    if let Some(helper) = config.get("credsStore").and_then(serde_json::Value::as_str) {
        names.push(format!("docker-credential-{helper}"));
    }
    let detail = match names.is_empty() {
        true => format!("{} has none", path.display()),
        false => format!("{}: {}", path.display(), names.join(", ")),
    };
    let mut checks = vec![credentials(CheckStatus::Ok, detail, None)];
    checks.extend(contact(&hosts));
    checks
}

/// The host of a name in Docker's configuration, which may be a URL.
fn host(name: &str) -> String {
    let name = name.split_once("://").map_or(name, |(_, rest)| rest);
    let host = name.split('/').next().unwrap_or_default();
    match host {
        "index.docker.io" | "registry-1.docker.io" => "docker.io".to_owned(),
        host => host.to_owned(),
    }
}

/// Asks all registries at the same time, without credentials.
fn contact(hosts: &[String]) -> Vec<DoctorCheck> {
    let (Ok(options), Ok(runtime)) = (registry_options(), async_runtime()) else {
        return Vec::new();
    };
    let client = RegistryClient::new(RegistryOptions {
        keychain: Keychain::anonymous(),
        retry: RetryPolicy {
            attempts: 1,
            ..RetryPolicy::default()
        },
        ..options
    });
    let answers = hosts.iter().map(|host| {
        let client = client.clone();
        async move {
            let reference = format!("{host}/{NO_REPOSITORY}:v0");
            let Ok(reference) = reference.parse::<ImageReference>() else {
                return Some("it is not the name of a registry".to_owned());
            };
            match tokio::time::timeout(TIMEOUT, client.tags(&reference)).await {
                Ok(Ok(_)) => None,
                Ok(Err(error)) => failure(&error),
                Err(_) => Some(format!("no response within {} seconds", TIMEOUT.as_secs())),
            }
        }
    });
    let answers = runtime.block_on(join_all(answers));
    let checks = hosts
        .iter()
        .zip(answers)
        .map(|(host, failure)| match failure {
            None => check(host, CheckStatus::Ok, "responds".to_owned(), None),
            Some(detail) => {
                let fix = "check the network, and the proxies in HTTPS_PROXY and NO_PROXY";
                check(host, CheckStatus::Missing, detail, Some(fix))
            }
        });
    checks.collect()
}

/// Why a registry cannot be used; `None` if it only has no such repository, or wants credentials.
fn failure(error: &RegistryError) -> Option<String> {
    match error {
        RegistryError::Denied { .. } | RegistryError::NotFound { .. } => None,
        error => Some(error_chain(error)),
    }
}

fn check(name: &str, status: CheckStatus, detail: String, fix: Option<&str>) -> DoctorCheck {
    DoctorCheck {
        group: "registries",
        name: name.to_owned(),
        status,
        detail,
        fix: fix.map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::host;

    #[test]
    fn hosts_come_from_names_and_urls() {
        for (name, expected) in [
            ("https://index.docker.io/v1/", "docker.io"),
            ("ghcr.io", "ghcr.io"),
            (
                "registry.example.com:5000/team",
                "registry.example.com:5000",
            ),
        ] {
            assert_eq!(host(name), expected);
        }
    }
}
