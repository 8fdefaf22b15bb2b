//! The package `kiln.evaluator.v1`. @generated from `proto/` by `cargo run -p xtask -- generate`.

/// A function that ran and failed. Trailers cannot be as large as messages: what did not fit is left out, the output
/// first, and the fields `*_omitted` say how much.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct FunctionFailure {
    /// The reference of the function's image, as it was asked for.
    #[prost(string, tag = "1")]
    pub image: ::prost::alloc::string::String,
    /// The exit code; -1 if a signal ended the function.
    #[prost(int32, tag = "2")]
    pub exit_code: i32,
    /// The signal that ended the function.
    #[prost(int32, optional, tag = "3")]
    pub signal: ::core::option::Option<i32>,
    /// What the function printed besides.
    #[prost(bytes = "bytes", tag = "4")]
    pub stderr: ::prost::bytes::Bytes,
    /// How many bytes in the middle of `stderr` were left out.
    #[prost(uint64, tag = "5")]
    pub stderr_omitted: u64,
    /// What the function answered: a serialized ResourceList, or whatever else it wrote.
    #[prost(bytes = "bytes", tag = "6")]
    pub output: ::prost::bytes::Bytes,
    /// How many bytes `output` has if it was left out.
    #[prost(uint64, tag = "7")]
    pub output_omitted: u64,
    /// The `results` of the output as a YAML sequence; empty if there are none. They are in `output` as well, but are still
    /// here when that was left out.
    #[prost(bytes = "bytes", tag = "8")]
    pub results: ::prost::bytes::Bytes,
    /// How many bytes `results` has if it was left out.
    #[prost(uint64, tag = "9")]
    pub results_omitted: u64,
}
/// A part of a request or of an answer. The head comes first, then the data, then the end.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct Part {
    #[prost(oneof = "part::Content", tags = "1, 2, 3")]
    pub content: ::core::option::Option<part::Content>,
}
/// Nested message and enum types in `Part`.
pub mod part {
    #[derive(Clone, PartialEq, Eq, Hash, ::prost::Oneof)]
    pub enum Content {
        #[prost(message, tag = "1")]
        Head(super::PartsHead),
        /// The next bytes of the list, and after the list those of the log. At most 1 MiB.
        #[prost(bytes, tag = "2")]
        Data(::prost::bytes::Bytes),
        #[prost(message, tag = "3")]
        End(super::PartsEnd),
    }
}
/// What the parts contain.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct PartsHead {
    /// The reference of the function's image; in requests.
    #[prost(string, tag = "1")]
    pub image: ::prost::alloc::string::String,
    /// The size of the serialized ResourceList, in bytes.
    #[prost(uint64, tag = "2")]
    pub list_size: u64,
    /// The size of what the function printed besides, in bytes; in answers.
    #[prost(uint64, tag = "3")]
    pub log_size: u64,
}
/// Shows that nothing is missing.
#[derive(Clone, PartialEq, Eq, Hash, ::prost::Message)]
pub struct PartsEnd {
    /// SHA-256 of all data.
    #[prost(bytes = "bytes", tag = "1")]
    pub sha256: ::prost::bytes::Bytes,
}
/// Generated client implementations.
pub mod streaming_evaluator_client {
    #![allow(
        unused_variables,
        dead_code,
        missing_docs,
        clippy::wildcard_imports,
        clippy::let_unit_value,
    )]
    use tonic::codegen::*;
    use tonic::codegen::http::Uri;
    /// Runs functions on lists that arrive in parts.
    #[derive(Debug, Clone)]
    pub struct StreamingEvaluatorClient<T> {
        inner: tonic::client::Grpc<T>,
    }
    impl<T> StreamingEvaluatorClient<T>
    where
        T: tonic::client::GrpcService<tonic::body::Body>,
        T::Error: Into<StdError>,
        T::ResponseBody: Body<Data = Bytes> + std::marker::Send + 'static,
        <T::ResponseBody as Body>::Error: Into<StdError> + std::marker::Send,
    {
        pub fn new(inner: T) -> Self {
            let inner = tonic::client::Grpc::new(inner);
            Self { inner }
        }
        pub fn with_origin(inner: T, origin: Uri) -> Self {
            let inner = tonic::client::Grpc::with_origin(inner, origin);
            Self { inner }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> StreamingEvaluatorClient<InterceptedService<T, F>>
        where
            F: tonic::service::Interceptor,
            T::ResponseBody: Default,
            T: tonic::codegen::Service<
                http::Request<tonic::body::Body>,
                Response = http::Response<
                    <T as tonic::client::GrpcService<tonic::body::Body>>::ResponseBody,
                >,
            >,
            <T as tonic::codegen::Service<
                http::Request<tonic::body::Body>,
            >>::Error: Into<StdError> + std::marker::Send + std::marker::Sync,
        {
            StreamingEvaluatorClient::new(InterceptedService::new(inner, interceptor))
        }
        /// Compress requests with the given encoding.
        ///
        /// This requires the server to support it otherwise it might respond with an
        /// error.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.send_compressed(encoding);
            self
        }
        /// Enable decompressing responses.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.inner = self.inner.accept_compressed(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_decoding_message_size(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.inner = self.inner.max_encoding_message_size(limit);
            self
        }
        /// Runs one function on one list of resources, as `evaluator.FunctionEvaluator/EvaluateFunction`. Nothing runs before all
        /// parts have arrived. A function that fails has the same status there and here.
        pub async fn evaluate(
            &mut self,
            request: impl tonic::IntoStreamingRequest<Message = super::Part>,
        ) -> std::result::Result<
            tonic::Response<tonic::codec::Streaming<super::Part>>,
            tonic::Status,
        > {
            self.inner
                .ready()
                .await
                .map_err(|e| {
                    tonic::Status::unknown(
                        format!("Service was not ready: {}", e.into()),
                    )
                })?;
            let codec = tonic_prost::ProstCodec::default();
            let path = http::uri::PathAndQuery::from_static(
                "/kiln.evaluator.v1.StreamingEvaluator/Evaluate",
            );
            let mut req = request.into_streaming_request();
            req.extensions_mut()
                .insert(
                    GrpcMethod::new("kiln.evaluator.v1.StreamingEvaluator", "Evaluate"),
                );
            self.inner.streaming(req, path, codec).await
        }
    }
}
/// Generated server implementations.
pub mod streaming_evaluator_server {
    #![allow(
        unused_variables,
        dead_code,
        missing_docs,
        clippy::wildcard_imports,
        clippy::let_unit_value,
    )]
    use tonic::codegen::*;
    /// Generated trait containing gRPC methods that should be implemented for use with StreamingEvaluatorServer.
    #[async_trait]
    pub trait StreamingEvaluator: std::marker::Send + std::marker::Sync + 'static {
        /// Server streaming response type for the Evaluate method.
        type EvaluateStream: tonic::codegen::tokio_stream::Stream<
                Item = std::result::Result<super::Part, tonic::Status>,
            >
            + std::marker::Send
            + 'static;
        /// Runs one function on one list of resources, as `evaluator.FunctionEvaluator/EvaluateFunction`. Nothing runs before all
        /// parts have arrived. A function that fails has the same status there and here.
        async fn evaluate(
            &self,
            request: tonic::Request<tonic::Streaming<super::Part>>,
        ) -> std::result::Result<tonic::Response<Self::EvaluateStream>, tonic::Status>;
    }
    /// Runs functions on lists that arrive in parts.
    #[derive(Debug)]
    pub struct StreamingEvaluatorServer<T> {
        inner: Arc<T>,
        accept_compression_encodings: EnabledCompressionEncodings,
        send_compression_encodings: EnabledCompressionEncodings,
        max_decoding_message_size: Option<usize>,
        max_encoding_message_size: Option<usize>,
    }
    impl<T> StreamingEvaluatorServer<T> {
        pub fn new(inner: T) -> Self {
            Self::from_arc(Arc::new(inner))
        }
        pub fn from_arc(inner: Arc<T>) -> Self {
            Self {
                inner,
                accept_compression_encodings: Default::default(),
                send_compression_encodings: Default::default(),
                max_decoding_message_size: None,
                max_encoding_message_size: None,
            }
        }
        pub fn with_interceptor<F>(
            inner: T,
            interceptor: F,
        ) -> InterceptedService<Self, F>
        where
            F: tonic::service::Interceptor,
        {
            InterceptedService::new(Self::new(inner), interceptor)
        }
        /// Enable decompressing requests with the given encoding.
        #[must_use]
        pub fn accept_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.accept_compression_encodings.enable(encoding);
            self
        }
        /// Compress responses with the given encoding, if the client supports it.
        #[must_use]
        pub fn send_compressed(mut self, encoding: CompressionEncoding) -> Self {
            self.send_compression_encodings.enable(encoding);
            self
        }
        /// Limits the maximum size of a decoded message.
        ///
        /// Default: `4MB`
        #[must_use]
        pub fn max_decoding_message_size(mut self, limit: usize) -> Self {
            self.max_decoding_message_size = Some(limit);
            self
        }
        /// Limits the maximum size of an encoded message.
        ///
        /// Default: `usize::MAX`
        #[must_use]
        pub fn max_encoding_message_size(mut self, limit: usize) -> Self {
            self.max_encoding_message_size = Some(limit);
            self
        }
    }
    impl<T, B> tonic::codegen::Service<http::Request<B>> for StreamingEvaluatorServer<T>
    where
        T: StreamingEvaluator,
        B: Body + std::marker::Send + 'static,
        B::Error: Into<StdError> + std::marker::Send + 'static,
    {
        type Response = http::Response<tonic::body::Body>;
        type Error = std::convert::Infallible;
        type Future = BoxFuture<Self::Response, Self::Error>;
        fn poll_ready(
            &mut self,
            _cx: &mut Context<'_>,
        ) -> Poll<std::result::Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }
        fn call(&mut self, req: http::Request<B>) -> Self::Future {
            match req.uri().path() {
                "/kiln.evaluator.v1.StreamingEvaluator/Evaluate" => {
                    #[allow(non_camel_case_types)]
                    struct EvaluateSvc<T: StreamingEvaluator>(pub Arc<T>);
                    impl<
                        T: StreamingEvaluator,
                    > tonic::server::StreamingService<super::Part> for EvaluateSvc<T> {
                        type Response = super::Part;
                        type ResponseStream = T::EvaluateStream;
                        type Future = BoxFuture<
                            tonic::Response<Self::ResponseStream>,
                            tonic::Status,
                        >;
                        fn call(
                            &mut self,
                            request: tonic::Request<tonic::Streaming<super::Part>>,
                        ) -> Self::Future {
                            let inner = Arc::clone(&self.0);
                            let fut = async move {
                                <T as StreamingEvaluator>::evaluate(&inner, request).await
                            };
                            Box::pin(fut)
                        }
                    }
                    let accept_compression_encodings = self.accept_compression_encodings;
                    let send_compression_encodings = self.send_compression_encodings;
                    let max_decoding_message_size = self.max_decoding_message_size;
                    let max_encoding_message_size = self.max_encoding_message_size;
                    let inner = self.inner.clone();
                    let fut = async move {
                        let method = EvaluateSvc(inner);
                        let codec = tonic_prost::ProstCodec::default();
                        let mut grpc = tonic::server::Grpc::new(codec)
                            .apply_compression_config(
                                accept_compression_encodings,
                                send_compression_encodings,
                            )
                            .apply_max_message_size_config(
                                max_decoding_message_size,
                                max_encoding_message_size,
                            );
                        let res = grpc.streaming(method, req).await;
                        Ok(res)
                    };
                    Box::pin(fut)
                }
                _ => {
                    Box::pin(async move {
                        let mut response = http::Response::new(
                            tonic::body::Body::default(),
                        );
                        let headers = response.headers_mut();
                        headers
                            .insert(
                                tonic::Status::GRPC_STATUS,
                                (tonic::Code::Unimplemented as i32).into(),
                            );
                        headers
                            .insert(
                                http::header::CONTENT_TYPE,
                                tonic::metadata::GRPC_CONTENT_TYPE,
                            );
                        Ok(response)
                    })
                }
            }
        }
    }
    impl<T> Clone for StreamingEvaluatorServer<T> {
        fn clone(&self) -> Self {
            let inner = self.inner.clone();
            Self {
                inner,
                accept_compression_encodings: self.accept_compression_encodings,
                send_compression_encodings: self.send_compression_encodings,
                max_decoding_message_size: self.max_decoding_message_size,
                max_encoding_message_size: self.max_encoding_message_size,
            }
        }
    }
    /// Generated gRPC service name
    pub const SERVICE_NAME: &str = "kiln.evaluator.v1.StreamingEvaluator";
    impl<T> tonic::server::NamedService for StreamingEvaluatorServer<T> {
        const NAME: &'static str = SERVICE_NAME;
    }
}
