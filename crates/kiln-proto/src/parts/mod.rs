//! Lists that are larger than a message, in parts: [`Parts`] takes a message apart, [`PartsBuffer`] puts it together.

mod buffer;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use bytes::Bytes;
use ring::digest::{Context, SHA256};

use crate::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};
pub use crate::generated::kiln_evaluator_v1::part::Content;
pub use crate::generated::kiln_evaluator_v1::streaming_evaluator_client::StreamingEvaluatorClient;
pub use crate::generated::kiln_evaluator_v1::{Part, PartsEnd, PartsHead};
pub use buffer::{AddError, PartsBuffer, PartsError};

/// The path of the method for parts.
pub const STREAMING_PATH: &str = "/kiln.evaluator.v1.StreamingEvaluator/Evaluate";

/// Maximum size of the data of a part.
const PART: usize = 1024 * 1024;

/// Maximum size of the message of a part. The image in a head may be long.
pub const MAX_PART_MESSAGE: usize = PART + 64 * 1024;

impl PartsHead {
    /// The size of all data; `None` if no machine has so much memory.
    pub fn size(&self) -> Option<usize> {
        let size = self.list_size.checked_add(self.log_size)?;
        usize::try_from(size).ok()
    }
}

/// The parts of a request or of an answer.
pub struct Parts {
    head: Option<PartsHead>,
    data: VecDeque<Bytes>,
    /// Of the data that were sent; `None` after the end.
    hash: Option<Context>,
}

impl Parts {
    pub fn of_request(request: EvaluateFunctionRequest) -> Parts {
        Parts::new(request.image, request.resource_list, Bytes::new())
    }

    pub fn of_answer(answer: EvaluateFunctionResponse) -> Parts {
        Parts::new(String::new(), answer.resource_list, answer.log)
    }

    fn new(image: String, list: Bytes, log: Bytes) -> Parts {
        Parts {
            head: Some(PartsHead {
                image,
                list_size: list.len() as u64,
                log_size: log.len() as u64,
            }),
            data: [list, log].into(),
            hash: Some(Context::new(&SHA256)),
        }
    }

    /// The next piece of the data; `None` after the last one.
    fn next_data(&mut self) -> Option<Bytes> {
        while let Some(data) = self.data.front_mut() {
            if !data.is_empty() {
                return Some(data.split_to(data.len().min(PART)));
            }
            self.data.pop_front();
        }
        None
    }
}

impl Iterator for Parts {
    type Item = Part;

    fn next(&mut self) -> Option<Part> {
        let content = match self.head.take() {
            Some(head) => Content::Head(head),
            None => match self.next_data() {
                Some(data) => {
                    self.hash.as_mut()?.update(&data);
                    Content::Data(data)
                }
                None => Content::End(PartsEnd {
                    sha256: digest(self.hash.take()?),
                }),
            },
        };
        Some(Part {
            content: Some(content),
        })
    }
}

fn digest(hash: Context) -> Bytes {
    Bytes::copy_from_slice(hash.finish().as_ref())
}
