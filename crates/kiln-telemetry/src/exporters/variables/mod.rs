//! The OTEL variables, parsed strictly: an unknown or invalid value is an error that names the variable, never ignored.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;

use super::Exporters;
use crate::traces::{BatchSettings, OtlpProtocol, SamplerSettings, TraceSettings};

/// An invalid variable.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct VariableError {
    pub name: String,
    reason: String,
}

/// The default port of the OpenTelemetry specification.
const PROMETHEUS_PORT: u16 = 9464;

/// The default timeout of an export, in milliseconds.
const TIMEOUT: u64 = 10_000;

/// The variables of a process.
pub(super) struct Variables<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A variable that is set.
struct SetVariable {
    name: String,
    value: String,
}

impl SetVariable {
    fn error(&self, reason: impl Into<String>) -> VariableError {
        VariableError {
            name: self.name.clone(),
            reason: reason.into(),
        }
    }

    fn parse<T: FromStr>(&self, expected: &str) -> Result<T, VariableError> {
        let value = &self.value;
        let invalid = |_| self.error(format!("{value:?} is not {expected}"));
        value.parse().map_err(invalid)
    }

    /// `name=value,…`, with percent-encoded values.
    fn pairs(&self) -> Result<Vec<(String, String)>, VariableError> {
        let mut pairs = Vec::new();
        for part in self.value.split(',').map(str::trim) {
            if part.is_empty() {
                continue;
            }
            let invalid = || self.error(format!("{part:?} is not NAME=VALUE"));
            let (name, value) = part.split_once('=').ok_or_else(invalid)?;
            let value = percent_decode_str(value.trim());
            let value = value.decode_utf8().map_err(|_| invalid())?.into_owned();
            let name = name.trim();
            if name.is_empty() {
                return Err(invalid());
            }
            pairs.push((name.to_owned(), value));
        }
        Ok(pairs)
    }
}

impl<'a> Variables<'a> {
    pub(super) fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Variables<'a> {
        Variables { variable }
    }

    pub(super) fn exporters(&self, program: &str) -> Result<Exporters, VariableError> {
        let disabled = self.bool("OTEL_SDK_DISABLED")?;
        let has_prometheus = self.exporter("OTEL_METRICS_EXPORTER", &["prometheus"])?;
        let has_otlp = self.exporter("OTEL_TRACES_EXPORTER", &["otlp"])?;
        self.exporter("OTEL_LOGS_EXPORTER", &[])?;
        if disabled {
            return Ok(Exporters::none());
        }
        let prometheus = has_prometheus.then(|| self.prometheus()).transpose()?;
        let traces = has_otlp.then(|| self.traces()).transpose()?;
        Ok(Exporters {
            prometheus,
            traces,
            resource: self.resource(program)?,
        })
    }

    /// A variable; an empty one counts as not set.
    fn get(&self, name: &str) -> Option<SetVariable> {
        let value = (self.variable)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| SetVariable {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }

    /// A setting for traces, or for all OTLP signals.
    fn otlp_setting(&self, setting: &str) -> Option<SetVariable> {
        self.get(&format!("OTEL_EXPORTER_OTLP_TRACES_{setting}"))
            .or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{setting}")))
    }

    fn bool(&self, name: &str) -> Result<bool, VariableError> {
        match self.get(name) {
            Some(set) => parse_bool(&set),
            None => Ok(false),
        }
    }

    /// Whether an exporter is enabled. All listed exporters must be known.
    fn exporter(&self, name: &str, known: &[&str]) -> Result<bool, VariableError> {
        let Some(set) = self.get(name) else {
            return Ok(false);
        };
        let mut is_enabled = false;
        for exporter in set.value.split(',').map(str::trim) {
            if known.contains(&exporter) {
                is_enabled = true;
            } else if exporter != "none" {
                let known = [known, &["none"]].concat().join(", ");
                return Err(set.error(format!("unknown exporter {exporter:?}; known: {known}")));
            }
        }
        Ok(is_enabled)
    }

    fn prometheus(&self) -> Result<(String, u16), VariableError> {
        let host = self.get("OTEL_EXPORTER_PROMETHEUS_HOST");
        let host = host.map_or_else(|| "localhost".to_owned(), |set| set.value);
        let port = match self.get("OTEL_EXPORTER_PROMETHEUS_PORT") {
            Some(set) => set.parse("a port")?,
            None => PROMETHEUS_PORT,
        };
        Ok((host, port))
    }

    /// The attributes of the service, its name first.
    fn resource(&self, program: &str) -> Result<Vec<(String, String)>, VariableError> {
        let mut attributes = match self.get("OTEL_RESOURCE_ATTRIBUTES") {
            Some(set) => set.pairs()?,
            None => Vec::new(),
        };
        let is_name = |(name, _): &(String, String)| name == "service.name";
        let name = attributes.iter().rposition(is_name);
        let name = name.map(|at| attributes.remove(at).1);
        attributes.retain(|attribute| !is_name(attribute));
        let service_name = self.get("OTEL_SERVICE_NAME").map(|set| set.value);
        let name = service_name.or(name).unwrap_or_else(|| program.to_owned());
        attributes.insert(0, ("service.name".to_owned(), name));
        Ok(attributes)
    }

    fn traces(&self) -> Result<TraceSettings, VariableError> {
        let protocol = self.protocol()?;
        let headers = match self.otlp_setting("HEADERS") {
            Some(set) => parse_headers(&set)?,
            None => Vec::new(),
        };
        let timeout = match self.otlp_setting("TIMEOUT") {
            Some(set) => set.parse("a number of milliseconds")?,
            None => TIMEOUT,
        };
        if let Some(set) = self.otlp_setting("COMPRESSION")
            && set.value != "none"
        {
            return Err(set.error(format!("unknown compression {:?}; known: none", set.value)));
        }
        let path = |setting| {
            self.otlp_setting(setting)
                .map(|set| PathBuf::from(set.value))
        };
        Ok(TraceSettings {
            protocol,
            endpoint: self.endpoint(protocol)?,
            headers,
            timeout: Duration::from_millis(timeout),
            ca_certificate: path("CERTIFICATE"),
            client_certificate: path("CLIENT_CERTIFICATE"),
            client_key: path("CLIENT_KEY"),
            sampler: self.sampler()?,
            batches: self.batches()?,
        })
    }

    fn batches(&self) -> Result<BatchSettings, VariableError> {
        let number = |name: &str, default: usize| match self.get(name) {
            Some(set) => {
                let expected = "a number of at least 1";
                let number: NonZeroUsize = set.parse(expected)?;
                Ok(number.get())
            }
            None => Ok(default),
        };
        let delay = number("OTEL_BSP_SCHEDULE_DELAY", 5000)?;
        let queue_size = number("OTEL_BSP_MAX_QUEUE_SIZE", 2048)?;
        let batch_size = number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)?;
        Ok(BatchSettings {
            delay: Duration::from_millis(u64::try_from(delay).unwrap_or(u64::MAX)),
            queue_size,
            batch_size: batch_size.min(queue_size),
        })
    }

    fn protocol(&self) -> Result<OtlpProtocol, VariableError> {
        let Some(set) = self.otlp_setting("PROTOCOL") else {
            return Ok(OtlpProtocol::Http);
        };
        match set.value.as_str() {
            "http/protobuf" => Ok(OtlpProtocol::Http),
            "grpc" => Ok(OtlpProtocol::Grpc),
            other => Err(set.error(format!(
                "unknown protocol {other:?}; known: http/protobuf, grpc"
            ))),
        }
    }

    /// The endpoint of traces. The general endpoint gets the path of traces appended, the endpoint for traces is used as it is.
    fn endpoint(&self, protocol: OtlpProtocol) -> Result<Uri, VariableError> {
        let traces_endpoint = self.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let is_for_traces = traces_endpoint.is_some();
        let set = traces_endpoint.or_else(|| self.get("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let set = set.unwrap_or_else(|| SetVariable {
            name: "OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(),
            value: match protocol {
                OtlpProtocol::Http => "http://localhost:4318".to_owned(),
                OtlpProtocol::Grpc => "http://localhost:4317".to_owned(),
            },
        });
        let mut text = set.value.clone();
        if protocol == OtlpProtocol::Grpc && !text.contains("://") {
            let insecure = self.otlp_setting("INSECURE");
            let insecure = insecure.map(|set| parse_bool(&set)).transpose()?;
            let scheme = if insecure == Some(true) {
                "http"
            } else {
                "https"
            };
            text = format!("{scheme}://{text}");
        }
        if protocol == OtlpProtocol::Http && !is_for_traces {
            text = format!("{}/v1/traces", text.trim_end_matches('/'));
        }
        let invalid = || {
            set.error(format!(
                "{:?} is not http://HOST:PORT or https://HOST:PORT",
                set.value
            ))
        };
        let uri: Uri = text.parse().map_err(|_| invalid())?;
        let has_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        if has_scheme && has_host {
            Ok(uri)
        } else {
            Err(invalid())
        }
    }

    fn sampler(&self) -> Result<SamplerSettings, VariableError> {
        let argument = self.get("OTEL_TRACES_SAMPLER_ARG");
        let ratio = || match &argument {
            Some(set) => {
                let expected = "a number from 0 to 1";
                let ratio: f64 = set.parse(expected)?;
                if (0.0..=1.0).contains(&ratio) {
                    Ok(ratio)
                } else {
                    Err(set.error(format!("{ratio} is not {expected}")))
                }
            }
            None => Ok(1.0),
        };
        let parent_based = |ratio| SamplerSettings {
            ratio,
            follow_parent: true,
        };
        let root_only = |ratio| SamplerSettings {
            ratio,
            follow_parent: false,
        };
        let Some(set) = self.get("OTEL_TRACES_SAMPLER") else {
            return Ok(parent_based(1.0));
        };
        Ok(match set.value.as_str() {
            "always_on" => root_only(1.0),
            "always_off" => root_only(0.0),
            "traceidratio" => root_only(ratio()?),
            "parentbased_always_on" => parent_based(1.0),
            "parentbased_always_off" => parent_based(0.0),
            "parentbased_traceidratio" => parent_based(ratio()?),
            other => {
                let known = "always_on, always_off, traceidratio, parentbased_always_on, \
                     parentbased_always_off, parentbased_traceidratio";
                return Err(set.error(format!("unknown sampler {other:?}; known: {known}")));
            }
        })
    }
}

fn parse_bool(set: &SetVariable) -> Result<bool, VariableError> {
    match set.value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(set.error(format!("{:?} is not true or false", set.value))),
    }
}

/// Parses headers. They may contain secrets, so the error does not quote them.
fn parse_headers(set: &SetVariable) -> Result<Vec<(HeaderName, HeaderValue)>, VariableError> {
    let invalid = || set.error("is not a list of NAME=VALUE with valid header names and values");
    let pairs = set.pairs().map_err(|_| invalid())?;
    let header = |(name, value): (String, String)| {
        let name = HeaderName::from_str(&name).map_err(|_| invalid())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| invalid())?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    pairs.into_iter().map(header).collect()
}

#[cfg(test)]
mod tests;
