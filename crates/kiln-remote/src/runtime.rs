//! The runtime of images that a runner elsewhere runs.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use kiln_proto::evaluator::EvaluateFunctionRequest;
use kiln_runtime::{
    FindError, FunctionSpec, Input, Outcome, Output, RunContext, RunError, Runner, Runtime, Target,
};
use prost::Message as _;
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::transport::Endpoint;

use crate::answer::{Asked, timed_out};
use crate::connection::{self, Connection, Ended};
use crate::error::SetupError;
use crate::options::RemoteOptions;

/// Runs images by asking a runner. Which it knows, it says only when it is asked to run one.
pub struct RemoteRuntime {
    runner: Arc<Remote>,
}

impl RemoteRuntime {
    /// Checks how the runner is to be reached; it is not reached yet.
    pub fn new(options: RemoteOptions) -> Result<RemoteRuntime, SetupError> {
        let endpoint = connection::endpoint(&options)?;
        if options.token_file.is_some() && !options.is_encrypted() && !options.address.is_local() {
            return Err(SetupError::TokenInClear);
        }
        let remote = Remote {
            options,
            endpoint,
            connection: OnceLock::new(),
        };
        remote.authorization()?;
        Ok(RemoteRuntime {
            runner: Arc::new(remote),
        })
    }
}

impl Runtime for RemoteRuntime {
    fn find(&self, function: &FunctionSpec) -> Result<Arc<dyn Runner>, FindError> {
        match &function.target {
            // The protocol has no place for variables.
            Target::Image(image) if function.env.is_empty() => Ok(Arc::new(RemoteRunner {
                remote: Arc::clone(&self.runner),
                image: image.clone(),
            })),
            _ => Err(FindError::not_found(function)),
        }
    }
}

/// A runner elsewhere.
struct Remote {
    options: RemoteOptions,
    endpoint: Endpoint,
    connection: OnceLock<Result<Connection, SetupError>>,
}

impl Remote {
    fn connection(&self) -> Result<&Connection, &SetupError> {
        let connection = self
            .connection
            .get_or_init(|| Connection::start(&self.endpoint, &self.options));
        connection.as_ref()
    }

    /// The token as it is now.
    fn authorization(&self) -> Result<Option<MetadataValue<Ascii>>, SetupError> {
        let Some(path) = &self.options.token_file else {
            return Ok(None);
        };
        let token = connection::read(path)?;
        let value = [b"Bearer ", token.trim_ascii()].concat();
        let value = MetadataValue::try_from(value.as_slice());
        let mut value = value.map_err(|_| SetupError::Token { path: path.clone() })?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}

struct RemoteRunner {
    remote: Arc<Remote>,
    image: String,
}

impl RemoteRunner {
    /// What a call carries besides its message.
    fn metadata(&self, authorization: Option<MetadataValue<Ascii>>) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        let trace_context = self.remote.options.trace_context;
        for (name, value) in trace_context.map(|context| context()).into_iter().flatten() {
            // A call is not worth less for a trace that cannot be told.
            if let Ok(value) = value.parse() {
                metadata.insert(name, value);
            }
        }
        if let Some(authorization) = authorization {
            metadata.insert("authorization", authorization);
        }
        metadata
    }
}

impl Runner for RemoteRunner {
    fn run(&self, input: &Input<'_>, ctx: &RunContext) -> Result<Outcome, RunError> {
        if ctx.cancel.is_cancelled() {
            return Err(RunError::Cancelled);
        }
        let options = &self.remote.options;
        let asked = Asked {
            image: &self.image,
            address: &options.address,
            max_message_size: options.max_message_size,
            deadline: ctx.deadline,
            started: Instant::now(),
        };
        let request = EvaluateFunctionRequest {
            resource_list: Bytes::copy_from_slice(input.wire().as_bytes()),
            image: self.image.clone(),
        };
        let size = request.encoded_len();
        if size > options.max_message_size {
            return Err(asked.too_large(size));
        }
        let connection = self.remote.connection();
        let connection = connection.map_err(|error| asked.not_set_up(error))?;
        let authorization = self.remote.authorization();
        let authorization = authorization.map_err(|error| asked.not_set_up(&error))?;
        let ended = connection.call(request, self.metadata(authorization), ctx);
        let outcome = match ended {
            Ended::Answered(answer) => asked.outcome(answer)?,
            Ended::TimedOut(deadline) => return Err(timed_out(deadline)),
            Ended::Cancelled => return Err(RunError::Cancelled),
        };
        let limit = ctx.limits.max_output;
        let output = match &outcome.output {
            Output::Wire(bytes) => bytes.len(),
            Output::List(_) => 0,
        };
        if output as u64 + outcome.stderr.len() as u64 > limit {
            return Err(RunError::OutputTooLarge { limit });
        }
        if let Some(listener) = &ctx.on_stderr {
            listener.hear(&outcome.stderr);
        }
        Ok(outcome)
    }
}
