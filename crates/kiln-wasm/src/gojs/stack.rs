//! The arguments of an import of Go's `js` interface: they lie on the stack of the Go program, 64 bits each.

use super::values::{GoValues, JsValue};
use crate::host::{Guest, GuestMemory, OutOfBounds, SharedText, Stop};

/// The longest list of arguments that a call may have.
const MAX_ARGUMENTS: u64 = 10_000;

impl From<OutOfBounds> for Stop {
    fn from(_: OutOfBounds) -> Stop {
        Stop::Trap("an argument of the module is outside of its memory".to_owned())
    }
}

/// Reads arguments. Addresses are relative to the stack pointer.
pub(super) struct GoStack<'a> {
    pub(super) memory: GuestMemory<'a>,
    pub(super) values: &'a mut GoValues,
    pointer: u64,
}

impl<'a> GoStack<'a> {
    pub(super) fn new(guest: &'a mut dyn Guest, pointer: u32) -> GoStack<'a> {
        let (memory, state) = guest.parts();
        GoStack {
            memory,
            values: &mut state.go,
            pointer: pointer.into(),
        }
    }

    pub(super) fn long(&self, offset: u64) -> Result<u64, Stop> {
        Ok(self.memory.u64(self.pointer + offset)?)
    }

    pub(super) fn word(&self, offset: u64) -> Result<u32, Stop> {
        Ok(self.memory.u32(self.pointer + offset)?)
    }

    pub(super) fn value(&self, offset: u64) -> Result<JsValue, Stop> {
        Ok(self.values.load(self.long(offset)?))
    }

    /// A slice of bytes: address, then length.
    pub(super) fn bytes(&self, offset: u64) -> Result<&[u8], Stop> {
        let (address, length) = (self.long(offset)?, self.long(offset + 8)?);
        Ok(self.memory.bytes(address, length)?)
    }

    pub(super) fn bytes_mut(&mut self, offset: u64) -> Result<&mut [u8], Stop> {
        let (address, length) = (self.long(offset)?, self.long(offset + 8)?);
        Ok(self.memory.bytes_mut(address, length)?)
    }

    pub(super) fn text(&self, offset: u64) -> Result<SharedText, Stop> {
        Ok(SharedText::from(&*String::from_utf8_lossy(
            self.bytes(offset)?,
        )))
    }

    /// A slice of values.
    pub(super) fn values(&self, offset: u64) -> Result<Vec<JsValue>, Stop> {
        let (address, length) = (self.long(offset)?, self.long(offset + 8)?);
        if length > MAX_ARGUMENTS {
            return Err(Stop::Trap(format!("a call with {length} arguments")));
        }
        let value = |index: u64| -> Result<JsValue, Stop> {
            let at = address.checked_add(index * 8).ok_or(OutOfBounds)?;
            Ok(self.values.load(self.memory.u64(at)?))
        };
        (0..length).map(value).collect()
    }

    pub(super) fn set_value(&mut self, offset: u64, value: JsValue) -> Result<(), Stop> {
        let bits = self.values.store(value)?;
        self.set_long(offset, bits)
    }

    pub(super) fn set_long(&mut self, offset: u64, value: u64) -> Result<(), Stop> {
        Ok(self.memory.set_u64(self.pointer + offset, value)?)
    }

    pub(super) fn set_word(&mut self, offset: u64, value: u32) -> Result<(), Stop> {
        Ok(self.memory.set_u32(self.pointer + offset, value)?)
    }

    pub(super) fn set_bool(&mut self, offset: u64, value: bool) -> Result<(), Stop> {
        Ok(self.memory.set_u8(self.pointer + offset, value.into())?)
    }
}
