//! The flags of the pod evaluator.

use std::num::NonZeroUsize;
use std::time::Duration;

use kiln_go::{FlagSet, GoDuration, Key, Parsed};

use super::{given, lenient, not_negative};
use crate::config::PodConfig;
use crate::environment::{Environment, WRAPPER_SERVER_IMAGE};

const CACHE_CONFIG: &str = "/pod-cache-config/pod-cache-config.yaml";

const SCAN_INTERVAL: u32 = 60;

const MAX_WAITLIST: NonZeroUsize = NonZeroUsize::new(2).unwrap();

/// Renewing leases more often would only add load to the API server.
const SHORTEST_LEASE: Duration = Duration::from_secs(3);

pub(super) struct PodFlags {
    kubeconfig: Key<String>,
    cache_config: Key<String>,
    warm_up: Key<bool>,
    namespace: Key<String>,
    ttl: Key<GoDuration>,
    scan_interval: Key<GoDuration>,
    template: Key<String>,
    max_waitlist_length: Key<i64>,
    max_parallel_pods: Key<i64>,
    private_registries: Key<bool>,
    registry_auth_path: Key<String>,
    registry_auth_name: Key<String>,
    private_registries_tls: Key<bool>,
    tls_secret_path: Key<String>,
    #[cfg_attr(
        not(feature = "pods"),
        expect(
            dead_code,
            reason = "the flag is accepted, and there are no pods to address"
        )
    )]
    address_mode: Key<String>,
    lease_period: Key<GoDuration>,
}

impl PodFlags {
    pub(super) fn new(set: &mut FlagSet) -> PodFlags {
        PodFlags {
            kubeconfig: set.text(
                "kubeconfig",
                "",
                "The kubeconfig `file`; only needed outside a cluster",
            ),
            cache_config: set.text(
                "pod-cache-config",
                CACHE_CONFIG,
                "The `file` with pod settings per image",
            ),
            warm_up: set.add(
                "warm-up-pod-cache",
                true,
                "Create pods for listed images before the first call",
            ),
            namespace: set.text("pod-namespace", "porch-fn-system", "The namespace of pods"),
            ttl: set.add(
                "pod-ttl",
                GoDuration::from_seconds(30 * 60),
                "How long a pod without calls is kept",
            ),
            scan_interval: set.add(
                "scan-interval",
                GoDuration::from_seconds(SCAN_INTERVAL.into()),
                "How often to look for expired pods",
            ),
            template: set.text(
                "function-pod-template",
                "",
                "The name of the ConfigMap with the pod template",
            ),
            max_waitlist_length: set.add(
                "max-waitlist-length",
                2,
                "Number of calls of a pod at which another pod is created",
            ),
            max_parallel_pods: set.add(
                "max-parallel-pods-per-function",
                1,
                "Maximum number of pods per function and replica",
            ),
            private_registries: set.add(
                "enable-private-registries",
                false,
                "Use credentials for registries outside the catalog",
            ),
            registry_auth_path: set.text(
                "registry-auth-secret-path",
                "/var/tmp/config-secret/.dockerconfigjson",
                "The `file` with credentials for registries",
            ),
            registry_auth_name: set.text(
                "registry-auth-secret-name",
                "auth-secret",
                "The name of the secret that pods pull images with",
            ),
            private_registries_tls: set.add(
                "enable-private-registries-tls",
                false,
                "Trust additional CA certificates for registries",
            ),
            tls_secret_path: set.text(
                "tls-secret-path",
                "/var/tmp/tls-secret/",
                "The `directory` with these CA certificates",
            ),
            address_mode: set.text(
                "pod-address-mode",
                "dns",
                "Address of pods: dns (name of the service), clusterip (IP of the service) or podip (IP of the pod)",
            ),
            lease_period: set.add(
                "pod-lease-period",
                GoDuration::from_seconds(15),
                "How long the lease of a replica is valid without renewal; then other replicas adopt its pods",
            ),
        }
    }

    pub(super) fn config(
        &self,
        parsed: &Parsed,
        environment: &Environment,
        warnings: &mut Vec<String>,
    ) -> Result<PodConfig, String> {
        // Values below one mean the default, as in Porch.
        let at_least_one = |value: i64, otherwise: NonZeroUsize| {
            let value = usize::try_from(value).ok();
            value.and_then(NonZeroUsize::new).unwrap_or(otherwise)
        };
        let lease_period = not_negative("pod-lease-period", parsed.get(self.lease_period))?;
        if lease_period < SHORTEST_LEASE {
            let shortest = GoDuration::from(SHORTEST_LEASE);
            return Err(format!("--pod-lease-period must be at least {shortest}"));
        }
        let default = Duration::from_secs(SCAN_INTERVAL.into());
        let scan_interval =
            lenient::scan_interval(parsed.get(self.scan_interval), default, warnings);
        #[cfg(feature = "pods")]
        let address_mode = parsed
            .get(self.address_mode)
            .parse()
            .map_err(|error| format!("--pod-address-mode: {error}"))?;
        let image = environment.get(WRAPPER_SERVER_IMAGE);
        Ok(PodConfig {
            kubeconfig: given(parsed.get(self.kubeconfig)),
            cache_config: parsed.get(self.cache_config).into(),
            warm_up: parsed.get(self.warm_up),
            namespace: parsed.get(self.namespace),
            ttl: lenient::pod_ttl(parsed.get(self.ttl), warnings),
            scan_interval,
            template: Some(parsed.get(self.template)).filter(|name| !name.is_empty()),
            max_waitlist_length: at_least_one(parsed.get(self.max_waitlist_length), MAX_WAITLIST),
            max_parallel_pods: at_least_one(parsed.get(self.max_parallel_pods), NonZeroUsize::MIN),
            private_registries: parsed.get(self.private_registries),
            registry_auth_path: parsed.get(self.registry_auth_path).into(),
            registry_auth_name: parsed.get(self.registry_auth_name),
            private_registries_tls: parsed.get(self.private_registries_tls),
            tls_secret_path: parsed.get(self.tls_secret_path).into(),
            #[cfg(feature = "pods")]
            address_mode,
            lease_period,
            wrapper_server_image: image.map(|image| image.to_string_lossy().into_owned()),
        })
    }
}
