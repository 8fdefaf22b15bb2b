//! Where a pod is called.

use std::net::Ipv6Addr;

use crate::keys::WRAPPER_PORT;

/// By what a pod is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddressMode {
    /// The name of its service; its address where the cluster has no DNS.
    #[default]
    Dns,
    /// The address of its service, which needs nothing but routes.
    ClusterIp,
    /// Its own address, past the service.
    PodIp,
}

/// Where a pod is called: host and port. The pod's own address is part of it, because a pod that comes back elsewhere
/// under the same name is another place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) host_port: String,
    /// Where it is called as well if that is a name that nobody knows.
    pub(crate) without_dns: Option<String>,
    pub(crate) pod_ip: String,
}

impl Place {
    pub(crate) fn new(
        mode: AddressMode,
        name: &str,
        namespace: &str,
        pod_ip: &str,
        cluster_ip: Option<&str>,
    ) -> Place {
        // A service may have no address of its own.
        let cluster_ip = cluster_ip.filter(|ip| !ip.is_empty() && *ip != "None");
        let host = match (mode, cluster_ip) {
            (AddressMode::Dns, _) => format!("{name}.{namespace}.svc.cluster.local"),
            (AddressMode::ClusterIp, Some(ip)) => in_brackets(ip),
            (AddressMode::ClusterIp, None) | (AddressMode::PodIp, _) => in_brackets(pod_ip),
        };
        let port = |host: String| format!("{host}:{WRAPPER_PORT}");
        let address = cluster_ip.filter(|_| mode == AddressMode::Dns);
        Place {
            host_port: port(host),
            without_dns: address.map(in_brackets).map(port),
            pod_ip: pod_ip.to_owned(),
        }
    }

    /// All ways there are to call it, the best first.
    pub(crate) fn ways(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.host_port.as_str()).chain(self.without_dns.as_deref())
    }
}

fn in_brackets(ip: &str) -> String {
    match ip.parse::<Ipv6Addr>() {
        Ok(ip) => format!("[{ip}]"),
        Err(_) => ip.to_owned(),
    }
}
