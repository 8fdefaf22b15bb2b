//! The command line of the probe.

use std::path::PathBuf;
use std::time::Duration;

use kiln_go::{FlagSet, GoDuration, Key};

pub(super) struct ProbeFlags {
    set: FlagSet,
    addr: Key<String>,
    service: Key<String>,
    user_agent: Key<String>,
    connect_timeout: Key<GoDuration>,
    rpc_header: Key<Vec<String>>,
    rpc_timeout: Key<GoDuration>,
    tls: Key<bool>,
    tls_no_verify: Key<bool>,
    tls_ca_cert: Key<String>,
    tls_client_cert: Key<String>,
    tls_client_key: Key<String>,
    tls_server_name: Key<String>,
    verbose: Key<bool>,
    version: Key<bool>,
}

pub(super) enum ProbeCommand {
    Version,
    Probe(Box<ProbeConfig>),
}

/// The validated command line.
pub(super) struct ProbeConfig {
    pub(super) address: String,
    pub(super) service: String,
    pub(super) user_agent: String,
    pub(super) connect_timeout: Duration,
    pub(super) rpc_timeout: Duration,
    pub(super) headers: Vec<(String, String)>,
    pub(super) tls: Option<TlsConfig>,
    pub(super) verbose: bool,
}

pub(super) struct TlsConfig {
    pub(super) trust: Trust,
    /// The client's certificate and key.
    pub(super) identity: Option<(PathBuf, PathBuf)>,
}

/// Which servers to trust.
pub(super) enum Trust {
    Any,
    Signed {
        /// The CA certificates; those of the system if not given.
        ca: Option<PathBuf>,
        server_name: Option<String>,
    },
}

impl ProbeFlags {
    pub(super) fn new() -> ProbeFlags {
        let mut set = FlagSet::new("grpc-health-probe");
        let second = GoDuration::from_seconds(1);
        ProbeFlags {
            addr: set.text("addr", "", "(required) tcp host:port to connect"),
            service: set.text("service", "", "service name to check (default: \"\")"),
            user_agent: set.text(
                "user-agent",
                "grpc_health_probe",
                "user-agent header value of health check requests",
            ),
            connect_timeout: set.add(
                "connect-timeout",
                second,
                "timeout for establishing connection",
            ),
            rpc_header: set.add(
                "rpc-header",
                Vec::new(),
                "additional RPC headers in 'name: value' format. May specify more than one via multiple flags.",
            ),
            rpc_timeout: set.add("rpc-timeout", second, "timeout for health check rpc"),
            tls: set.add("tls", false, "use TLS (default: plaintext)"),
            tls_no_verify: set.add(
                "tls-no-verify",
                false,
                "(with -tls) don't verify the certificate presented by the server",
            ),
            tls_ca_cert: set.text(
                "tls-ca-cert",
                "",
                "(with -tls, optional) file containing trusted certificates for verifying server",
            ),
            tls_client_cert: set.text(
                "tls-client-cert",
                "",
                "(with -tls, optional) client certificate (requires -tls-client-key)",
            ),
            tls_client_key: set.text(
                "tls-client-key",
                "",
                "(with -tls) client private key (requires -tls-client-cert)",
            ),
            tls_server_name: set.text(
                "tls-server-name",
                "",
                "(with -tls) override the hostname used to verify the server certificate",
            ),
            verbose: set.add("v", false, "verbose logs"),
            version: set.add("version", false, "show probe version and exit"),
            set,
        }
    }

    /// Parses a command line without the program's name; the error is the text to print.
    pub(super) fn parse(
        &self,
        arguments: impl Iterator<Item = String>,
    ) -> Result<ProbeCommand, String> {
        let parsed = self.set.parse(arguments);
        let parsed = parsed.map_err(|stop| stop.text().to_owned())?;
        if parsed.get(self.version) {
            return Ok(ProbeCommand::Version);
        }
        let wrong = |text: &str| Err(format!("error: {text}\n"));
        let address = parsed.get(self.addr);
        if address.is_empty() {
            return wrong("-addr not specified");
        }
        let timeout = |key, name: &str| {
            let given: GoDuration = parsed.get(key);
            let positive = given.to_std().filter(|timeout| !timeout.is_zero());
            positive.ok_or_else(|| {
                format!("error: -{name} must be greater than zero (specified: {given})\n")
            })
        };
        let connect_timeout = timeout(self.connect_timeout, "connect-timeout")?;
        let rpc_timeout = timeout(self.rpc_timeout, "rpc-timeout")?;
        let text = |key| Some(parsed.get(key)).filter(|text: &String| !text.is_empty());
        let (ca, server_name) = (text(self.tls_ca_cert), text(self.tls_server_name));
        let (certificate, key) = (text(self.tls_client_cert), text(self.tls_client_key));
        let no_verify = parsed.get(self.tls_no_verify);
        if !parsed.get(self.tls) {
            let given = [
                ("-tls-no-verify", no_verify),
                ("-tls-ca-cert", ca.is_some()),
                ("-tls-client-cert", certificate.is_some()),
                ("-tls-server-name", server_name.is_some()),
            ];
            if let Some((flag, _)) = given.iter().find(|(_, given)| *given) {
                return wrong(&format!("specified {flag} without specifying -tls"));
            }
        }
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Some((certificate.into(), key.into())),
            (None, None) => None,
            (Some(_), None) => {
                return wrong("specified -tls-client-cert without specifying -tls-client-key");
            }
            (None, Some(_)) => {
                return wrong("specified -tls-client-key without specifying -tls-client-cert");
            }
        };
        if no_verify && ca.is_some() {
            return wrong(
                "cannot specify -tls-ca-cert with -tls-no-verify (CA cert would not be used)",
            );
        }
        if no_verify && server_name.is_some() {
            return wrong(
                "cannot specify -tls-server-name with -tls-no-verify (server name would not be used)",
            );
        }
        let trust = match no_verify {
            true => Trust::Any,
            false => Trust::Signed {
                ca: ca.map(PathBuf::from),
                server_name,
            },
        };
        let headers = parsed.get(self.rpc_header).into_iter().map(|header| {
            let pair = header.split_once(':');
            let pair =
                pair.map(|(name, value)| (name.to_lowercase(), value.trim_start().to_owned()));
            pair.ok_or_else(|| {
                format!("error: invalid RPC header, expected 'key: value', got {header:?}\n")
            })
        });
        Ok(ProbeCommand::Probe(Box::new(ProbeConfig {
            address,
            service: parsed.get(self.service),
            user_agent: parsed.get(self.user_agent),
            connect_timeout,
            rpc_timeout,
            headers: headers.collect::<Result<_, _>>()?,
            tls: parsed
                .get(self.tls)
                .then_some(TlsConfig { trust, identity }),
            verbose: parsed.get(self.verbose),
        })))
    }
}

#[cfg(test)]
mod tests;
