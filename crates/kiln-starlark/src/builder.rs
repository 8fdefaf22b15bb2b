//! Text that is built piece by piece and counted as it grows.

use crate::error::Failure;
use crate::usage::Usage;
use crate::value::Value;

/// Collects text. Its memory is counted before it is allocated.
pub(crate) struct TextBuilder<'a> {
    usage: &'a Usage<'a>,
    text: Vec<u8>,
    /// The capacity in bytes.
    room: usize,
}

impl<'a> TextBuilder<'a> {
    pub(crate) fn new(usage: &'a Usage<'a>) -> TextBuilder<'a> {
        TextBuilder {
            usage,
            text: Vec::new(),
            room: 0,
        }
    }

    /// Appends a piece. Even an empty one counts as a step, so that all text is charged.
    pub(crate) fn push(&mut self, text: &[u8]) -> Result<(), Failure> {
        self.usage.charge(1)?;
        let needed = self.text.len().saturating_add(text.len());
        if needed > self.room {
            self.grow(needed)?;
        }
        self.text.extend_from_slice(text);
        Ok(())
    }

    /// Appends the output of `write`, which is at most `most` bytes.
    pub(crate) fn push_with(
        &mut self,
        most: usize,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<(), Failure> {
        self.usage.check_room(most)?;
        write(&mut self.text);
        let length = self.text.len();
        match length > self.room {
            true => self.grow(length),
            false => Ok(()),
        }
    }

    /// Charges memory besides the text.
    pub(crate) fn allocate(&self, bytes: usize) -> Result<(), Failure> {
        self.usage.allocate(bytes)
    }

    /// Charges the time to write an integer.
    pub(crate) fn charge_bits(&self, bits: u64) -> Result<(), Failure> {
        crate::value::int::charge_bits(self.usage, bits)
    }

    /// The text, for a use that ends with the function that builds it.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.text
    }

    /// The text as a value, which is a copy.
    pub(crate) fn into_string(self) -> Result<Value, Failure> {
        self.usage.allocate(self.text.len() + STRING_BYTES)?;
        Ok(Value::string(self.text))
    }

    fn grow(&mut self, needed: usize) -> Result<(), Failure> {
        // The capacity that the vector is going to allocate.
        let room = needed.max(self.room.saturating_mul(2)).max(64);
        self.usage.allocate(room - self.room)?;
        self.room = room;
        Ok(())
    }
}

/// The bytes of a string besides its text.
pub(crate) const STRING_BYTES: usize = 32;
