//! Puts parts together again, and checks that they fit each other, a limit and the announced hash.

use bytes::Bytes;
use ring::digest::{Context, SHA256};

use super::{Content, Part, PartsHead};
use crate::evaluator::{EvaluateFunctionRequest, EvaluateFunctionResponse};

/// The parts that have arrived.
pub struct PartsBuffer {
    /// Maximum size of all data.
    limit: usize,
    assembly: Assembly,
    data: Vec<u8>,
}

#[derive(Default)]
enum Assembly {
    #[default]
    BeforeHead,
    Data {
        head: PartsHead,
        size: usize,
        hash: Box<Context>,
    },
    Ended(PartsHead),
}

/// Why parts are refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum PartsError {
    #[error("a part has no content")]
    Empty,
    #[error("the first part is not a head")]
    NoHead,
    #[error("there is more than one head")]
    SecondHead,
    #[error("the head announces {size} bytes, more than the limit of {limit} bytes")]
    TooLarge { size: usize, limit: usize },
    #[error("there is more data than the head announces")]
    TooMuch,
    #[error("parts are missing")]
    Incomplete,
    #[error("the data does not have the announced hash")]
    Damaged,
    #[error("a part follows the end")]
    AfterEnd,
}

/// Why a part is not added.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AddError<E> {
    Invalid(PartsError),
    /// There is no memory for it.
    NoMemory(E),
}

impl<E> From<PartsError> for AddError<E> {
    fn from(error: PartsError) -> AddError<E> {
        AddError::Invalid(error)
    }
}

impl PartsBuffer {
    pub fn new(limit: usize) -> PartsBuffer {
        PartsBuffer {
            limit,
            assembly: Assembly::default(),
            data: Vec::new(),
        }
    }

    /// The size that the head announces; 0 before it arrived.
    pub fn announced(&self) -> usize {
        match &self.assembly {
            Assembly::Data { size, .. } => *size,
            Assembly::BeforeHead | Assembly::Ended(_) => 0,
        }
    }

    /// How many bytes of data have arrived.
    pub fn len(&self) -> usize {
        self.data.len()
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }

    /// Adds a part that fits those before it. `charge` is called with the number of bytes before memory is taken.
    pub fn add<E>(
        &mut self,
        part: Part,
        charge: impl FnOnce(usize) -> Result<(), E>,
    ) -> Result<(), AddError<E>> {
        let content = part.content.ok_or(PartsError::Empty)?;
        match (&mut self.assembly, content) {
            (Assembly::BeforeHead, Content::Head(head)) => {
                let limit = self.limit;
                let size = head.size().unwrap_or(usize::MAX);
                if size > limit {
                    return Err(PartsError::TooLarge { size, limit }.into());
                }
                self.assembly = Assembly::Data {
                    head,
                    size,
                    hash: Box::new(Context::new(&SHA256)),
                };
            }
            (Assembly::BeforeHead, _) => return Err(PartsError::NoHead.into()),
            (Assembly::Data { size, hash, .. }, Content::Data(data)) => {
                if data.len() > *size - self.data.len() {
                    return Err(PartsError::TooMuch.into());
                }
                hash.update(&data);
                append(&mut self.data, &data, *size, charge).map_err(AddError::NoMemory)?;
            }
            (Assembly::Data { head, size, hash }, Content::End(end)) => {
                if self.data.len() < *size {
                    return Err(PartsError::Incomplete.into());
                }
                if Context::clone(hash).finish().as_ref() != end.sha256 {
                    return Err(PartsError::Damaged.into());
                }
                self.assembly = Assembly::Ended(std::mem::take(head));
            }
            (Assembly::Data { .. }, Content::Head(_)) => return Err(PartsError::SecondHead.into()),
            (Assembly::Ended(_), _) => return Err(PartsError::AfterEnd.into()),
        }
        Ok(())
    }

    /// The request, if all parts have arrived.
    pub fn into_request(self) -> Result<EvaluateFunctionRequest, PartsError> {
        let (head, resource_list, _) = self.finish()?;
        Ok(EvaluateFunctionRequest {
            resource_list,
            image: head.image,
        })
    }

    /// The answer, if all parts have arrived.
    pub fn into_answer(self) -> Result<EvaluateFunctionResponse, PartsError> {
        let (_, resource_list, log) = self.finish()?;
        Ok(EvaluateFunctionResponse { resource_list, log })
    }

    fn finish(self) -> Result<(PartsHead, Bytes, Bytes), PartsError> {
        let Assembly::Ended(head) = self.assembly else {
            return Err(PartsError::Incomplete);
        };
        let mut list = Bytes::from(self.data);
        // The sizes were added without overflow, and this many bytes arrived.
        let log = list.split_off(head.list_size as usize);
        Ok((head, list, log))
    }
}

/// The capacity doubles until all data fits.
fn append<E>(
    all: &mut Vec<u8>,
    data: &[u8],
    announced: usize,
    charge: impl FnOnce(usize) -> Result<(), E>,
) -> Result<(), E> {
    let needed = all.len() + data.len();
    if needed > all.capacity() {
        let wanted = (2 * needed).min(announced);
        charge(wanted)?;
        all.reserve_exact(wanted - all.len());
    }
    all.extend_from_slice(data);
    Ok(())
}
