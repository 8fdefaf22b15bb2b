//! Where a pod is called.

use std::fmt;
use std::net::Ipv6Addr;
use std::str::FromStr;

use crate::keys::WRAPPER_PORT;

/// By what a pod is called.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AddressMode {
    /// The name of its service, which needs the cluster's DNS.
    #[default]
    Dns,
    /// The address of its service, which needs nothing but routes.
    ClusterIp,
    /// Its own address, past the service.
    PodIp,
}

/// A text that is no way of calling pods.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{0:?} is not a way to address pods; it is \"dns\", \"clusterip\" or \"podip\"")]
pub struct AddressModeError(String);

impl FromStr for AddressMode {
    type Err = AddressModeError;

    fn from_str(text: &str) -> Result<AddressMode, AddressModeError> {
        match text {
            "dns" => Ok(AddressMode::Dns),
            "clusterip" => Ok(AddressMode::ClusterIp),
            "podip" => Ok(AddressMode::PodIp),
            _ => Err(AddressModeError(text.to_owned())),
        }
    }
}

impl fmt::Display for AddressMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AddressMode::Dns => "dns",
            AddressMode::ClusterIp => "clusterip",
            AddressMode::PodIp => "podip",
        })
    }
}

/// Where a pod is called: host and port. The pod's own address is part of it, because a pod that comes back elsewhere
/// under the same name is another place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) host_port: String,
    pod_ip: String,
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
        Place {
            host_port: format!("{host}:{WRAPPER_PORT}"),
            pod_ip: pod_ip.to_owned(),
        }
    }
}

fn in_brackets(ip: &str) -> String {
    match ip.parse::<Ipv6Addr>() {
        Ok(ip) => format!("[{ip}]"),
        Err(_) => ip.to_owned(),
    }
}
