//! The OTEL variables, read strictly: what is not understood is refused by name, never guessed or ignored.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use http::{HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;

use super::Exporters;
use crate::traces::{BatchSettings, Protocol, SamplerSettings, TraceSettings};

/// A variable that makes no sense.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{name}: {reason}")]
pub struct VariableError {
    /// Which variable.
    pub name: String,
    reason: String,
}

/// Where Prometheus looks unless told otherwise.
const PROMETHEUS_PORT: u16 = 9464;

/// How long sending spans may take, in milliseconds.
const TIMEOUT: u64 = 10_000;

/// The variables of a process.
pub(super) struct Variables<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A variable that is set.
struct Set {
    name: String,
    value: String,
}

impl Set {
    fn wrong(&self, reason: impl Into<String>) -> VariableError {
        VariableError {
            name: self.name.clone(),
            reason: reason.into(),
        }
    }

    /// The value as something else.
    fn parse<T: FromStr>(&self, expected: &str) -> Result<T, VariableError> {
        let value = &self.value;
        let wrong = |_| self.wrong(format!("{value:?} is not {expected}"));
        value.parse().map_err(wrong)
    }

    /// `name=value,…`, values with `%`-escapes.
    fn pairs(&self) -> Result<Vec<(String, String)>, VariableError> {
        let mut pairs = Vec::new();
        for part in self.value.split(',').map(str::trim) {
            if part.is_empty() {
                continue;
            }
            let wrong = || self.wrong(format!("{part:?} is not NAME=VALUE"));
            let (name, value) = part.split_once('=').ok_or_else(wrong)?;
            let value = percent_decode_str(value.trim());
            let value = value.decode_utf8().map_err(|_| wrong())?.into_owned();
            let name = name.trim();
            if name.is_empty() {
                return Err(wrong());
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

    /// The value of a variable; one that is empty is not set.
    fn get(&self, name: &str) -> Option<Set> {
        let value = (self.variable)(name)?;
        let value = value.trim();
        (!value.is_empty()).then(|| Set {
            name: name.to_owned(),
            value: value.to_owned(),
        })
    }

    /// A setting that can be made for traces alone or for everything that OTLP carries.
    fn otlp(&self, setting: &str) -> Option<Set> {
        self.get(&format!("OTEL_EXPORTER_OTLP_TRACES_{setting}"))
            .or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{setting}")))
    }

    fn bool(&self, name: &str) -> Result<bool, VariableError> {
        match self.get(name) {
            Some(set) => bool_of(&set),
            None => Ok(false),
        }
    }

    /// Whether an exporter is on. All that are named must be known.
    fn exporter(&self, name: &str, known: &[&str]) -> Result<bool, VariableError> {
        let Some(set) = self.get(name) else {
            return Ok(false);
        };
        let mut is_on = false;
        for exporter in set.value.split(',').map(str::trim) {
            if known.contains(&exporter) {
                is_on = true;
            } else if exporter != "none" {
                let known = [known, &["none"]].concat().join(", ");
                return Err(set.wrong(format!("unknown exporter {exporter:?}; known: {known}")));
            }
        }
        Ok(is_on)
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
        let named = attributes.iter().rposition(is_name);
        let named = named.map(|at| attributes.remove(at).1);
        attributes.retain(|attribute| !is_name(attribute));
        let name = self.get("OTEL_SERVICE_NAME").map(|set| set.value);
        let name = name.or(named).unwrap_or_else(|| program.to_owned());
        attributes.insert(0, ("service.name".to_owned(), name));
        Ok(attributes)
    }

    fn traces(&self) -> Result<TraceSettings, VariableError> {
        let protocol = self.protocol()?;
        let headers = match self.otlp("HEADERS") {
            Some(set) => headers(&set)?,
            None => Vec::new(),
        };
        let timeout = match self.otlp("TIMEOUT") {
            Some(set) => set.parse("a number of milliseconds")?,
            None => TIMEOUT,
        };
        if let Some(set) = self.otlp("COMPRESSION")
            && set.value != "none"
        {
            return Err(set.wrong(format!("unknown compression {:?}; known: none", set.value)));
        }
        let path = |setting| self.otlp(setting).map(|set| PathBuf::from(set.value));
        Ok(TraceSettings {
            protocol,
            endpoint: self.endpoint(protocol)?,
            headers,
            timeout: Duration::from_millis(timeout),
            ca: path("CERTIFICATE"),
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
        let queue = number("OTEL_BSP_MAX_QUEUE_SIZE", 2048)?;
        let size = number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 512)?;
        Ok(BatchSettings {
            delay: Duration::from_millis(u64::try_from(delay).unwrap_or(u64::MAX)),
            queue,
            size: size.min(queue),
        })
    }

    fn protocol(&self) -> Result<Protocol, VariableError> {
        let Some(set) = self.otlp("PROTOCOL") else {
            return Ok(Protocol::Http);
        };
        match set.value.as_str() {
            "http/protobuf" => Ok(Protocol::Http),
            "grpc" => Ok(Protocol::Grpc),
            other => Err(set.wrong(format!(
                "unknown protocol {other:?}; known: http/protobuf, grpc"
            ))),
        }
    }

    /// Where traces go. An address for everything gets the path of traces, one for traces is taken as it is.
    fn endpoint(&self, protocol: Protocol) -> Result<Uri, VariableError> {
        let of_traces = self.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
        let is_of_traces = of_traces.is_some();
        let set = of_traces.or_else(|| self.get("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let set = set.unwrap_or_else(|| Set {
            name: "OTEL_EXPORTER_OTLP_ENDPOINT".to_owned(),
            value: match protocol {
                Protocol::Http => "http://localhost:4318".to_owned(),
                Protocol::Grpc => "http://localhost:4317".to_owned(),
            },
        });
        let mut text = set.value.clone();
        if protocol == Protocol::Grpc && !text.contains("://") {
            let insecure = self.otlp("INSECURE");
            let insecure = insecure.map(|set| bool_of(&set)).transpose()?;
            let scheme = if insecure == Some(true) {
                "http"
            } else {
                "https"
            };
            text = format!("{scheme}://{text}");
        }
        if protocol == Protocol::Http && !is_of_traces {
            text = format!("{}/v1/traces", text.trim_end_matches('/'));
        }
        let wrong = || {
            set.wrong(format!(
                "{:?} is not http://HOST:PORT or https://HOST:PORT",
                set.value
            ))
        };
        let uri: Uri = text.parse().map_err(|_| wrong())?;
        let has_scheme = matches!(uri.scheme_str(), Some("http" | "https"));
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        if has_scheme && has_host {
            Ok(uri)
        } else {
            Err(wrong())
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
                    Err(set.wrong(format!("{ratio} is not {expected}")))
                }
            }
            None => Ok(1.0),
        };
        let parent_based = |ratio| SamplerSettings {
            ratio,
            follow_parent: true,
        };
        let alone = |ratio| SamplerSettings {
            ratio,
            follow_parent: false,
        };
        let Some(set) = self.get("OTEL_TRACES_SAMPLER") else {
            return Ok(parent_based(1.0));
        };
        Ok(match set.value.as_str() {
            "always_on" => alone(1.0),
            "always_off" => alone(0.0),
            "traceidratio" => alone(ratio()?),
            "parentbased_always_on" => parent_based(1.0),
            "parentbased_always_off" => parent_based(0.0),
            "parentbased_traceidratio" => parent_based(ratio()?),
            other => {
                let known = "always_on, always_off, traceidratio, parentbased_always_on, \
                     parentbased_always_off, parentbased_traceidratio";
                return Err(set.wrong(format!("unknown sampler {other:?}; known: {known}")));
            }
        })
    }
}

fn bool_of(set: &Set) -> Result<bool, VariableError> {
    match set.value.to_ascii_lowercase().as_str() {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(set.wrong(format!("{:?} is not true or false", set.value))),
    }
}

/// Headers may hold secrets, so what is wrong with them is said without them.
fn headers(set: &Set) -> Result<Vec<(HeaderName, HeaderValue)>, VariableError> {
    let wrong = || set.wrong("is not a list of NAME=VALUE that can be sent as headers");
    let pairs = set.pairs().map_err(|_| wrong())?;
    let header = |(name, value): (String, String)| {
        let name = HeaderName::from_str(&name).map_err(|_| wrong())?;
        let mut value = HeaderValue::from_str(&value).map_err(|_| wrong())?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    pairs.into_iter().map(header).collect()
}

#[cfg(test)]
mod tests;
