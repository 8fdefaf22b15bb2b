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
