//! The evaluator of images that a runner elsewhere runs.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::Bytes;
use kiln_proto::evaluator::EvaluateFunctionRequest;
use kiln_proto::peer::MessageLimits;
use kiln_runtime::{
    AsyncRunner, Deadline, Evaluator, FindError, Found, FunctionSpec, Outcome, RunError, RunFuture,
    Target,
};
use tonic::metadata::{Ascii, MetadataMap, MetadataValue};
use tonic::transport::Endpoint;

use crate::answer::RunnerCall;
use crate::connection::{self, Connection};
use crate::error::SetupError;
use crate::options::RemoteOptions;

/// Runs images by calling a runner. Whether the runner knows an image shows only when it is called.
pub struct RemoteEvaluator {
    remote: Arc<Remote>,
}

impl RemoteEvaluator {
    /// Checks the options; does not connect yet.
    pub fn new(options: RemoteOptions) -> Result<RemoteEvaluator, SetupError> {
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
        Ok(RemoteEvaluator {
            remote: Arc::new(remote),
        })
    }
}

impl Evaluator for RemoteEvaluator {
    fn find(&self, function: &FunctionSpec) -> Result<Found, FindError> {
        match &function.target {
            // The protocol cannot carry variables.
            Target::Image(image) if function.env.is_empty() => {
                Ok(Found::Async(Arc::new(RemoteRunner {
                    remote: Arc::clone(&self.remote),
                    image: image.clone(),
                })))
            }
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

    /// The current token.
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

impl AsyncRunner for RemoteRunner {
    fn run(&self, list: Bytes, deadline: Option<Deadline>) -> RunFuture<'_> {
        // Here and not in the future: the trace of the call belongs to the calling thread.
        let trace = self.trace();
        Box::pin(self.call(list, deadline, trace))
    }
}

impl RemoteRunner {
    async fn call(
        &self,
        list: Bytes,
        deadline: Option<Deadline>,
        mut metadata: MetadataMap,
    ) -> Result<Outcome, RunError> {
        let options = &self.remote.options;
        let call = RunnerCall {
            image: &self.image,
            address: &options.address,
            is_encrypted: options.is_encrypted(),
            limits: MessageLimits::new(options.max_message_size),
            deadline,
            started: Instant::now(),
        };
        let request = EvaluateFunctionRequest {
            resource_list: list,
            image: self.image.clone(),
        };
        let connection = self.remote.connection();
        let connection = connection.map_err(|error| call.not_set_up(error))?;
        let authorization = self.remote.authorization();
        let authorization = authorization.map_err(|error| call.not_set_up(&error))?;
        if let Some(authorization) = authorization {
            metadata.insert("authorization", authorization);
        }
        let answer = connection.call(request, metadata, deadline).await;
        call.outcome(answer.ok_or(RunError::Cancelled)?)
    }

    /// The headers that carry the trace of the call.
    fn trace(&self) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        let trace_context = self.remote.options.trace_context;
        for (name, value) in trace_context.map(|context| context()).into_iter().flatten() {
            // A trace that cannot be sent does not fail the call.
            if let Ok(value) = value.parse() {
                metadata.insert(name, value);
            }
        }
        metadata
    }
}
