//! The address of a pod.

use std::net::Ipv6Addr;
use std::str::FromStr;

use crate::kube::names::WRAPPER_PORT;

/// Which address of a pod is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddressMode {
    /// The DNS name of its service; falls back to the cluster IP if the name does not resolve.
    #[default]
    Dns,
    /// The cluster IP of its service.
    ClusterIp,
    /// The IP of the pod itself.
    PodIp,
}

/// A text that is not an [`AddressMode`].
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not an address mode; use \"dns\", \"clusterip\" or \"podip\"")]
pub struct UnknownAddressMode(String);

impl FromStr for AddressMode {
    type Err = UnknownAddressMode;

    fn from_str(text: &str) -> Result<AddressMode, UnknownAddressMode> {
        match text {
            "dns" => Ok(AddressMode::Dns),
            "clusterip" => Ok(AddressMode::ClusterIp),
            "podip" => Ok(AddressMode::PodIp),
            other => Err(UnknownAddressMode(other.to_owned())),
        }
    }
}

/// The address of a pod. It includes the pod's own IP, because a pod that comes back under the same name with another
/// IP needs a new connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PodAddress {
    pub(crate) host_port: String,
    /// The cluster IP, in case the DNS name does not resolve.
    pub(crate) fallback_host_port: Option<String>,
    pub(crate) pod_ip: String,
}

impl PodAddress {
    pub(crate) fn new(
        mode: AddressMode,
        name: &str,
        namespace: &str,
        pod_ip: &str,
        cluster_ip: Option<&str>,
    ) -> PodAddress {
        // A headless service has no cluster IP.
        let cluster_ip = cluster_ip.filter(|ip| !ip.is_empty() && *ip != "None");
        let host = match (mode, cluster_ip) {
            (AddressMode::Dns, _) => format!("{name}.{namespace}.svc.cluster.local"),
            (AddressMode::ClusterIp, Some(ip)) => in_brackets(ip),
            (AddressMode::ClusterIp, None) | (AddressMode::PodIp, _) => in_brackets(pod_ip),
        };
        let port = |host: String| format!("{host}:{WRAPPER_PORT}");
        let address = cluster_ip.filter(|_| mode == AddressMode::Dns);
        PodAddress {
            host_port: port(host),
            fallback_host_port: address.map(in_brackets).map(port),
            pod_ip: pod_ip.to_owned(),
        }
    }

    /// The addresses to try, the preferred one first.
    pub(crate) fn candidates(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.host_port.as_str()).chain(self.fallback_host_port.as_deref())
    }
}

fn in_brackets(ip: &str) -> String {
    match ip.parse::<Ipv6Addr>() {
        Ok(ip) => format!("[{ip}]"),
        Err(_) => ip.to_owned(),
    }
}
