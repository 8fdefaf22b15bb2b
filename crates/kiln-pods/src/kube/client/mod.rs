//! Finds the API server and builds a client for it.
//!
//! Inside the cluster no proxy is used. An API server outside may be behind a proxy: `proxy-url` of the kubeconfig, or
//! that of the environment by the rules of Go's programs. `kube` would match `NO_PROXY` against the address of the
//! proxy, so it never gets to see a proxy.

use std::error::Error;
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioExecutor;
use kiln_go::error_chain;
use kiln_oci::{Proxies, Proxy};
use kube::client::{Body, ConfigExt as _};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use tower::{BoxError, ServiceBuilder};

use crate::error::PodStartError;
use crate::options::{ClusterSource, PodOptions};

/// The default of the runner's own namespace.
const OWN_NAMESPACE: &str = "porch-system";

/// Replaces a missing `proxy-url`, so that `kube` does not look for a proxy in the environment.
const NO_PROXY: &str = "http://none.invalid";

/// Time limit of a connection attempt.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Returns a client and the runner's own namespace.
pub(crate) async fn connect(options: &PodOptions) -> Result<(kube::Client, String), PodStartError> {
    let (client, namespace) = match &options.cluster {
        ClusterSource::Client(client) => (client.clone(), None),
        ClusterSource::Infer => infer(&options.proxies).await?,
        ClusterSource::Kubeconfig(path) => {
            let file = Kubeconfig::read_from(path).map_err(no_cluster)?;
            from_kubeconfig(file, &options.proxies).await?
        }
    };
    let given = options.own_namespace.clone();
    let namespace = given.or(namespace);
    Ok((
        client,
        namespace.unwrap_or_else(|| OWN_NAMESPACE.to_owned()),
    ))
}

/// In the order of controller-runtime: the file that `KUBECONFIG` names, the service account, the file in the home
/// directory.
async fn infer(proxies: &Proxies) -> Result<(kube::Client, Option<String>), PodStartError> {
    if let Some(file) = Kubeconfig::from_env().map_err(no_cluster)? {
        return from_kubeconfig(file, proxies).await;
    }
    match Config::incluster() {
        Ok(config) => {
            let namespace = config.default_namespace.clone();
            Ok((direct_client(config)?, Some(namespace)))
        }
        Err(outside) => {
            let file = Kubeconfig::read().map_err(|error| {
                PodStartError::NoCluster(
                    format!("{}; {}", error_chain(&error), error_chain(&outside)).into(),
                )
            })?;
            from_kubeconfig(file, proxies).await
        }
    }
}

/// A client for the current context of a kubeconfig, and its namespace.
async fn from_kubeconfig(
    mut file: Kubeconfig,
    proxies: &Proxies,
) -> Result<(kube::Client, Option<String>), PodStartError> {
    let clusters = file.clusters.iter_mut();
    for cluster in clusters.filter_map(|named| named.cluster.as_mut()) {
        let given = cluster.proxy_url.as_deref().unwrap_or_default();
        if given.is_empty() {
            cluster.proxy_url = Some(NO_PROXY.to_owned());
        }
    }
    let config = Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(no_cluster)?;
    let given = config.proxy_url.take().filter(|given| *given != NO_PROXY);
    let proxy = match &given {
        Some(url) => Some(Proxy::parse(&url.to_string()).ok_or(PodStartError::Proxy)?),
        None => proxies.to_url(&config.cluster_url).cloned(),
    };
    let namespace = namespace_of(&config);
    let client = match &proxy {
        Some(proxy) => {
            tracing::info!("connecting to the API server through proxy {proxy}");
            proxied_client(proxy, config)?
        }
        None => direct_client(config)?,
    };
    Ok((client, namespace))
}

/// The namespace of the current context. `default` counts as not set, because it is not a sensible namespace for a
/// runner.
fn namespace_of(config: &Config) -> Option<String> {
    let namespace = &config.default_namespace;
    (namespace != "default").then(|| namespace.clone())
}

/// Retries of `kube` are off: callers decide on retries.
fn direct_client(mut config: Config) -> Result<kube::Client, PodStartError> {
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    kube::Client::try_from(config).map_err(unusable)
}

/// A client that uses a proxy. Time limits of requests are set by the callers.
fn proxied_client(proxy: &Proxy, config: Config) -> Result<kube::Client, PodStartError> {
    let no_way = |reason: &dyn Error| PodStartError::Unusable(error_chain(reason));
    let url: Uri = format!("http://{proxy}")
        .parse()
        .map_err(|error| no_way(&error))?;
    let mut connector = HttpConnector::new();
    connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
    let mut tunnel = Tunnel::new(url, connector);
    if let Some(authorization) = proxy.authorization() {
        let header = HeaderValue::try_from(authorization).map_err(|error| no_way(&error))?;
        tunnel = tunnel.with_auth(header);
    }
    let connector = config
        .rustls_https_connector_with_connector(tunnel)
        .map_err(unusable)?;
    let client: Client<_, Body> = Client::builder(TokioExecutor::new()).build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(unusable)?)
        .layer(config.extra_headers_layer().map_err(unusable)?)
        .map_err(BoxError::from)
        .service(client);
    Ok(kube::Client::new(service, config.default_namespace))
}

fn no_cluster(error: kube::config::KubeconfigError) -> PodStartError {
    PodStartError::NoCluster(Box::new(error))
}

fn unusable(error: kube::Error) -> PodStartError {
    PodStartError::Unusable(error.to_string())
}

#[cfg(test)]
mod tests;
