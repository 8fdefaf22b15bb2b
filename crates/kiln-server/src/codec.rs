//! The codec of requests and responses.
//!
//! Like the codec that comes with the protocol, except that a malformed request is reported as the caller's error.

use kiln_proto::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
use prost::Message as _;
use tonic::Status;
use tonic::codec::{Codec, DecodeBuf, Decoder};
use tonic_prost::{ProstCodec, ProstEncoder};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EvaluateCodec;

#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestDecoder;

impl Codec for EvaluateCodec {
    type Encode = EvaluateFunctionResponse;
    type Decode = EvaluateFunctionRequest;
    type Encoder = ProstEncoder<EvaluateFunctionResponse>;
    type Decoder = RequestDecoder;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<EvaluateFunctionResponse, EvaluateFunctionRequest>::default().encoder()
    }

    fn decoder(&mut self) -> RequestDecoder {
        RequestDecoder
    }
}

impl Decoder for RequestDecoder {
    type Item = EvaluateFunctionRequest;
    type Error = Status;

    fn decode(&mut self, buf: &mut DecodeBuf<'_>) -> Result<Option<Self::Item>, Status> {
        // Bytes of the message are shared, not copied.
        let decoded = EvaluateFunctionRequest::decode(buf);
        decoded
            .map(Some)
            .map_err(|error| Status::invalid_argument(format!("malformed request: {error}")))
    }
}
