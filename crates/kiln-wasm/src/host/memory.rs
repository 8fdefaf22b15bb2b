//! Checked access to the linear memory of a module.
//!
//! Addresses come from the module and may be anything: every access checks the whole range without overflow.

/// The linear memory of a module.
pub(crate) struct GuestMemory<'a>(pub(crate) &'a mut [u8]);

/// An address range is not inside the memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct OutOfBounds;

type Checked<T> = Result<T, OutOfBounds>;

impl GuestMemory<'_> {
    pub(crate) fn bytes(&self, address: u64, length: u64) -> Checked<&[u8]> {
        let (start, end) = range(address, length)?;
        self.0.get(start..end).ok_or(OutOfBounds)
    }

    pub(crate) fn bytes_mut(&mut self, address: u64, length: u64) -> Checked<&mut [u8]> {
        let (start, end) = range(address, length)?;
        self.0.get_mut(start..end).ok_or(OutOfBounds)
    }

    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> Checked<()> {
        self.bytes_mut(address, bytes.len() as u64)?
            .copy_from_slice(bytes);
        Ok(())
    }

    pub(crate) fn u16(&self, address: u64) -> Checked<u16> {
        self.array(address).map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&self, address: u64) -> Checked<u32> {
        self.array(address).map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&self, address: u64) -> Checked<u64> {
        self.array(address).map(u64::from_le_bytes)
    }

    pub(crate) fn set_u8(&mut self, address: u64, value: u8) -> Checked<()> {
        self.write(address, &[value])
    }

    pub(crate) fn set_u32(&mut self, address: u64, value: u32) -> Checked<()> {
        self.write(address, &value.to_le_bytes())
    }

    pub(crate) fn set_u64(&mut self, address: u64, value: u64) -> Checked<()> {
        self.write(address, &value.to_le_bytes())
    }

    fn array<const N: usize>(&self, address: u64) -> Checked<[u8; N]> {
        let bytes = self.bytes(address, N as u64)?;
        bytes.try_into().map_err(|_| OutOfBounds)
    }
}

fn range(address: u64, length: u64) -> Checked<(usize, usize)> {
    let end = address.checked_add(length).ok_or(OutOfBounds)?;
    let index = |value: u64| usize::try_from(value).map_err(|_| OutOfBounds);
    Ok((index(address)?, index(end)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_range_leaves_the_memory() {
        let mut bytes = [0; 8];
        let mut memory = GuestMemory(&mut bytes);
        assert_eq!(memory.write(4, b"abcd"), Ok(()));
        assert_eq!(memory.bytes(4, 4), Ok(&b"abcd"[..]));
        assert_eq!(memory.bytes(8, 0), Ok(&b""[..]));
        for (address, length) in [
            (5, 4),
            (9, 0),
            (u64::MAX, 1),
            (1, u64::MAX),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(memory.bytes(address, length), Err(OutOfBounds));
            assert_eq!(memory.bytes_mut(address, length), Err(OutOfBounds));
        }
        assert_eq!(memory.u64(1), Err(OutOfBounds));
        assert_eq!(memory.set_u32(6, 1), Err(OutOfBounds));
    }
}
