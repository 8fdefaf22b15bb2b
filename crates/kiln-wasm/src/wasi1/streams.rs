//! The calls of WASI that move data: reading, writing, waiting.

use super::{BAD_DESCRIPTOR, Called, Errno, INVALID, REALTIME};
use crate::host::{Guest, GuestMemory, HostArguments, OutOfBounds};

/// The largest number of buffers or subscriptions of a call, as `IOV_MAX` of Linux.
const MAX_VECTORS: u32 = 1024;

/// `fd_read(descriptor, vectors, count, size) -> errno`
pub(super) fn read(guest: &mut dyn Guest, arguments: HostArguments<'_>) -> Called {
    if arguments.word(0) != 0 {
        return Ok(Err(BAD_DESCRIPTOR));
    }
    let (mut memory, state) = guest.parts();
    let mut fill = || -> Result<(), Errno> {
        let vectors = vectors(&memory, arguments)?;
        let start = state.input_read;
        let mut at = start;
        for (address, length) in vectors {
            let buffer = memory.bytes_mut(address, length)?;
            let rest = state.input.get(at..).unwrap_or_default();
            let count = rest.len().min(buffer.len());
            if let (Some(buffer), Some(rest)) = (buffer.get_mut(..count), rest.get(..count)) {
                buffer.copy_from_slice(rest);
            }
            at += count;
        }
        memory.set_u32(arguments.word(3).into(), (at - start) as u32)?;
        state.input_read = at;
        Ok(())
    };
    Ok(fill())
}

/// `fd_write(descriptor, vectors, count, size) -> errno`
pub(super) fn write(guest: &mut dyn Guest, arguments: HostArguments<'_>) -> Called {
    let stream = arguments.word(0);
    if !matches!(stream, 1 | 2) {
        return Ok(Err(BAD_DESCRIPTOR));
    }
    let (mut memory, state) = guest.parts();
    let vectors = match vectors(&memory, arguments) {
        Ok(vectors) => vectors,
        Err(errno) => return Ok(Err(errno)),
    };
    let mut written = 0u32;
    for (address, length) in vectors {
        let Ok(bytes) = memory.bytes(address, length) else {
            return Ok(Err(Errno::from(OutOfBounds)));
        };
        state.output.write(stream, bytes)?;
        written = written.saturating_add(length as u32);
    }
    let set = memory.set_u32(arguments.word(3).into(), written);
    Ok(set.map_err(Errno::from))
}

/// Addresses and lengths of buffers.
fn vectors(
    memory: &GuestMemory<'_>,
    arguments: HostArguments<'_>,
) -> Result<Vec<(u64, u64)>, Errno> {
    let (list, count) = (u64::from(arguments.word(1)), arguments.word(2));
    if count > MAX_VECTORS {
        return Err(INVALID);
    }
    let vector = |index: u32| -> Result<(u64, u64), OutOfBounds> {
        let at = list + u64::from(index) * 8;
        Ok((memory.u32(at)?.into(), memory.u32(at + 4)?.into()))
    };
    let vectors: Result<Vec<_>, OutOfBounds> = (0..count).map(vector).collect();
    vectors.map_err(Errno::from)
}

const CHARACTER_DEVICE: u8 = 2;
const RIGHT_TO_READ: u64 = 1 << 1;
const RIGHT_TO_WRITE: u64 = 1 << 6;
const RIGHT_TO_POLL: u64 = 1 << 27;

/// `fd_fdstat_get(descriptor, status) -> errno`
pub(super) fn descriptor_status(guest: &mut dyn Guest, arguments: HostArguments<'_>) -> Called {
    let rights = match arguments.word(0) {
        0 => RIGHT_TO_READ | RIGHT_TO_POLL,
        1 | 2 => RIGHT_TO_WRITE | RIGHT_TO_POLL,
        _ => return Ok(Err(BAD_DESCRIPTOR)),
    };
    let mut status = [0; 24];
    let [kind, ..] = &mut status;
    *kind = CHARACTER_DEVICE;
    if let Some(field) = status.get_mut(8..16) {
        field.copy_from_slice(&rights.to_le_bytes());
    }
    put(guest, arguments, &status)
}

/// `fd_filestat_get(descriptor, status) -> errno`
pub(super) fn file_status(guest: &mut dyn Guest, arguments: HostArguments<'_>) -> Called {
    if arguments.word(0) > 2 {
        return Ok(Err(BAD_DESCRIPTOR));
    }
    let mut status = [0; 64];
    if let Some(kind) = status.get_mut(16) {
        *kind = CHARACTER_DEVICE;
    }
    put(guest, arguments, &status)
}

fn put(guest: &mut dyn Guest, arguments: HostArguments<'_>, status: &[u8]) -> Called {
    let (mut memory, _) = guest.parts();
    let written = memory.write(arguments.word(1).into(), status);
    Ok(written.map_err(Errno::from))
}

/// What `poll_oneoff` waits for.
#[derive(Clone, Copy)]
struct Subscription {
    user_data: u64,
    waits_for: WaitsFor,
}

#[derive(Clone, Copy)]
enum WaitsFor {
    /// A time of the monotonic clock.
    Time(u64),
    Stream {
        kind: u8,
        is_open: bool,
    },
}

const SUBSCRIPTION_SIZE: u64 = 48;
const EVENT_SIZE: u64 = 32;
const CLOCK: u8 = 0;
const WRITABLE: u8 = 2;
const ABSOLUTE_TIME: u16 = 1;

/// `poll_oneoff(subscriptions, events, count, event count) -> errno`. Streams are always ready; without one, time passes
/// until the first clock is due.
pub(super) fn poll(guest: &mut dyn Guest, arguments: HostArguments<'_>) -> Called {
    let (mut memory, state) = guest.parts();
    let count = arguments.word(2);
    if count == 0 || count > MAX_VECTORS {
        return Ok(Err(INVALID));
    }
    let (wall, now) = (state.clock.wall(), state.clock.monotonic());
    let read = |index: u32| -> Result<Subscription, OutOfBounds> {
        let at = u64::from(arguments.word(0)) + u64::from(index) * SUBSCRIPTION_SIZE;
        let kind = memory.u16(at + 8)? as u8;
        let waits_for = match kind {
            CLOCK => {
                let timeout = memory.u64(at + 24)?;
                let is_absolute = memory.u16(at + 40)? & ABSOLUTE_TIME != 0;
                WaitsFor::Time(match (is_absolute, memory.u32(at + 16)?) {
                    (false, _) => now.saturating_add(timeout),
                    (true, REALTIME) => now.saturating_add(timeout.saturating_sub(wall)),
                    (true, _) => timeout,
                })
            }
            kind => WaitsFor::Stream {
                kind,
                is_open: kind <= WRITABLE && memory.u32(at + 16)? <= 2,
            },
        };
        Ok(Subscription {
            user_data: memory.u64(at)?,
            waits_for,
        })
    };
    let subscriptions: Result<Vec<Subscription>, OutOfBounds> = (0..count).map(read).collect();
    let Ok(subscriptions) = subscriptions else {
        return Ok(Err(OutOfBounds.into()));
    };
    let first = subscriptions
        .iter()
        .map(|subscription| match subscription.waits_for {
            WaitsFor::Time(at) => at,
            WaitsFor::Stream { .. } => now,
        });
    let until = first.min().unwrap_or(now).max(now);
    state.clock.sleep(until, &state.interrupt)?;
    let mut put = || -> Result<(), OutOfBounds> {
        let mut events = 0;
        for subscription in &subscriptions {
            let (kind, error) = match subscription.waits_for {
                WaitsFor::Time(at) if at > until => continue,
                WaitsFor::Time(_) => (CLOCK, 0),
                WaitsFor::Stream { kind, is_open } => match is_open {
                    true => (kind, 0),
                    false => (kind, BAD_DESCRIPTOR as u16),
                },
            };
            let at = u64::from(arguments.word(1)) + u64::from(events) * EVENT_SIZE;
            memory.bytes_mut(at, EVENT_SIZE)?.fill(0);
            memory.set_u64(at, subscription.user_data)?;
            memory.write(at + 8, &error.to_le_bytes())?;
            memory.set_u8(at + 10, kind)?;
            events += 1;
        }
        memory.set_u32(arguments.word(3).into(), events)
    };
    Ok(put().map_err(Errno::from))
}
