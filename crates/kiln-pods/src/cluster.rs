//! How the API server is found, and the way to it.
//!
//! One's own cluster is asked directly. Others may be behind a proxy: the one that the kubeconfig names, or the one that the
//! environment does by the rules of Go's programs. `kube` has rules of its own, which hold what is not to be asked by way of
//! a proxy against the proxy's address; so it never gets to see one.

use std::error::Error;
use std::time::Duration;

use http::{HeaderValue, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioExecutor;
use kiln_oci::{Proxies, Proxy};
use kube::client::{Body, ConfigExt as _};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use tower::{BoxError, ServiceBuilder};

use crate::error::StartError;
use crate::options::{Cluster, Options};

/// The runner's own namespace where nobody says.
const OWN_NAMESPACE: &str = "porch-system";

/// Stands where a kubeconfig names no proxy, so that `kube` does not look for one in the environment.
const NO_PROXY: &str = "http://none.invalid";

/// How long making a connection may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A client, and the runner's own namespace.
pub(crate) async fn find(options: &Options) -> Result<(kube::Client, String), StartError> {
    let (client, namespace) = match &options.cluster {
        Cluster::Client(client) => (client.clone(), None),
        Cluster::Infer => infer(&options.proxies).await?,
        Cluster::Kubeconfig(path) => {
            let file = Kubeconfig::read_from(path).map_err(no_cluster)?;
            by_file(file, &options.proxies).await?
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
async fn infer(proxies: &Proxies) -> Result<(kube::Client, Option<String>), StartError> {
    if let Some(file) = Kubeconfig::from_env().map_err(no_cluster)? {
        return by_file(file, proxies).await;
    }
    match Config::incluster() {
        Ok(config) => {
            let namespace = config.default_namespace.clone();
            Ok((directly(config)?, Some(namespace)))
        }
        Err(outside) => {
            let file = Kubeconfig::read().map_err(|error| {
                StartError::NoCluster(format!("{}; {}", told(&error), told(&outside)).into())
            })?;
            by_file(file, proxies).await
        }
    }
}

/// The cluster of a file's context, and the namespace that it names.
async fn by_file(
    mut file: Kubeconfig,
    proxies: &Proxies,
) -> Result<(kube::Client, Option<String>), StartError> {
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
        Some(url) => Some(Proxy::parse(&url.to_string()).ok_or(StartError::Proxy)?),
        None => proxies.to_url(&config.cluster_url).cloned(),
    };
    let namespace = namespace_of(&config);
    let client = match &proxy {
        Some(proxy) => {
            tracing::info!("the API server is asked by way of the proxy {proxy}");
            by_way_of(proxy, config)?
        }
        None => directly(config)?,
    };
    Ok((client, namespace))
}

/// The namespace of a kubeconfig's context. One that names none means `default`, which is no place for a runner.
fn namespace_of(config: &Config) -> Option<String> {
    let namespace = &config.default_namespace;
    (namespace != "default").then(|| namespace.clone())
}

/// What is tried again is decided here, and nowhere below.
fn directly(mut config: Config) -> Result<kube::Client, StartError> {
    config.default_retry = false;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    kube::Client::try_from(config).map_err(unusable)
}

/// The same by way of a proxy. What has no time limit of its own here has one where it is asked.
fn by_way_of(proxy: &Proxy, config: Config) -> Result<kube::Client, StartError> {
    let no_way = |reason: &dyn Error| StartError::Unusable(told(reason));
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

fn no_cluster(error: kube::config::KubeconfigError) -> StartError {
    StartError::NoCluster(Box::new(error))
}

fn unusable(error: kube::Error) -> StartError {
    StartError::Unusable(error.to_string())
}

/// An error in one line.
fn told(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |&error| error.source());
    let texts: Vec<String> = causes.map(ToString::to_string).collect();
    texts.join(": ")
}

#[cfg(test)]
mod tests;
