//! WASI preview 1, as far as a function needs it: standard streams, a clock, random bytes, an exit code.
//!
//! There are no files, no directories and no sockets: their calls return the error that a program gets on a machine without
//! them, so that programs that only probe for files run. `streams` has the calls that move data.

mod streams;

use crate::host::{
    ExportedFunction, Guest, HostArguments, HostBody, HostFunction, NumberType, OutOfBounds,
    Signature, Stop,
};

/// The module name of the imports.
pub(crate) const MODULE: &str = "wasi_snapshot_preview1";

/// The exported function that is the program.
pub(crate) const START: &str = "_start";

/// The exported functions that show that a module has this interface.
pub(crate) const EXPORTS: &[ExportedFunction] = &[ExportedFunction {
    name: START,
    signature: Signature {
        parameters: &[],
        result: None,
    },
}];

/// The number of an error, as in WASI.
type Errno = u32;

const SUCCESS: Errno = 0;
const BAD_DESCRIPTOR: Errno = 8;
const FAULT: Errno = 21;
const INVALID: Errno = 28;
const NO_ENTRY: Errno = 44;
const NOT_SUPPORTED: Errno = 52;
const NOT_SEEKABLE: Errno = 70;

const W: NumberType = NumberType::I32;
const L: NumberType = NumberType::I64;

/// A call fails with an error number, or the module stops.
type Called = Result<Result<(), Errno>, Stop>;

/// All functions.
pub(crate) const FUNCTIONS: &[HostFunction] = &[
    function("args_get", &[W, W], |guest, arguments| {
        let list = guest.state().arguments.clone();
        put_texts(guest, arguments, &list)
    }),
    function("args_sizes_get", &[W, W], |guest, arguments| {
        let list = guest.state().arguments.clone();
        put_sizes(guest, arguments, &list)
    }),
    function("environ_get", &[W, W], |guest, arguments| {
        let list = guest.state().environment.clone();
        put_texts(guest, arguments, &list)
    }),
    function("environ_sizes_get", &[W, W], |guest, arguments| {
        let list = guest.state().environment.clone();
        put_sizes(guest, arguments, &list)
    }),
    function("clock_res_get", &[W, W], |guest, arguments| {
        answer(clock_resolution(guest, arguments))
    }),
    function("clock_time_get", &[W, L, W], |guest, arguments| {
        answer(clock_time(guest, arguments))
    }),
    function("fd_advise", &[W, L, L, W], |_, arguments| {
        on_stream(arguments, SUCCESS)
    }),
    function("fd_allocate", &[W, L, L], |_, arguments| {
        on_stream(arguments, NOT_SUPPORTED)
    }),
    function("fd_close", &[W], |_, arguments| {
        on_stream(arguments, SUCCESS)
    }),
    function("fd_datasync", &[W], |_, arguments| {
        on_stream(arguments, SUCCESS)
    }),
    function("fd_fdstat_get", &[W, W], |guest, arguments| {
        answer(streams::descriptor_status(guest, arguments))
    }),
    function("fd_fdstat_set_flags", &[W, W], |_, arguments| {
        on_stream(arguments, SUCCESS)
    }),
    function("fd_fdstat_set_rights", &[W, L, L], |_, arguments| {
        on_stream(arguments, SUCCESS)
    }),
    function("fd_filestat_get", &[W, W], |guest, arguments| {
        answer(streams::file_status(guest, arguments))
    }),
    function("fd_filestat_set_size", &[W, L], |_, arguments| {
        on_stream(arguments, INVALID)
    }),
    function("fd_filestat_set_times", &[W, L, L, W], |_, arguments| {
        on_stream(arguments, NOT_SUPPORTED)
    }),
    function("fd_pread", &[W, W, W, L, W], |_, arguments| {
        on_stream(arguments, NOT_SEEKABLE)
    }),
    function("fd_prestat_get", &[W, W], |_, _| Ok(BAD_DESCRIPTOR)),
    function("fd_prestat_dir_name", &[W, W, W], |_, _| Ok(BAD_DESCRIPTOR)),
    function("fd_pwrite", &[W, W, W, L, W], |_, arguments| {
        on_stream(arguments, NOT_SEEKABLE)
    }),
    function("fd_read", &[W, W, W, W], |guest, arguments| {
        answer(streams::read(guest, arguments))
    }),
    function("fd_readdir", &[W, W, W, L, W], |_, arguments| {
        on_stream(arguments, NOT_SUPPORTED)
    }),
    function("fd_renumber", &[W, W], |_, arguments| {
        on_stream(arguments, NOT_SUPPORTED)
    }),
    function("fd_seek", &[W, L, W, W], |_, arguments| {
        on_stream(arguments, NOT_SEEKABLE)
    }),
    function("fd_sync", &[W], |_, arguments| {
        on_stream(arguments, SUCCESS)
    }),
    function("fd_tell", &[W, W], |_, arguments| {
        on_stream(arguments, NOT_SEEKABLE)
    }),
    function("fd_write", &[W, W, W, W], |guest, arguments| {
        answer(streams::write(guest, arguments))
    }),
    function("path_create_directory", &[W, W, W], |_, _| {
        Ok(NOT_SUPPORTED)
    }),
    function("path_filestat_get", &[W, W, W, W, W], |_, _| Ok(NO_ENTRY)),
    function("path_filestat_set_times", &[W, W, W, W, L, L, W], |_, _| {
        Ok(NOT_SUPPORTED)
    }),
    function("path_link", &[W, W, W, W, W, W, W], |_, _| {
        Ok(NOT_SUPPORTED)
    }),
    function("path_open", &[W, W, W, W, W, L, L, W, W], |_, _| {
        Ok(NO_ENTRY)
    }),
    function("path_readlink", &[W, W, W, W, W, W], |_, _| Ok(NO_ENTRY)),
    function("path_remove_directory", &[W, W, W], |_, _| {
        Ok(NOT_SUPPORTED)
    }),
    function("path_rename", &[W, W, W, W, W, W], |_, _| Ok(NOT_SUPPORTED)),
    function("path_symlink", &[W, W, W, W, W], |_, _| Ok(NOT_SUPPORTED)),
    function("path_unlink_file", &[W, W, W], |_, _| Ok(NOT_SUPPORTED)),
    function("poll_oneoff", &[W, W, W, W], |guest, arguments| {
        answer(streams::poll(guest, arguments))
    }),
    HostFunction {
        name: "proc_exit",
        signature: Signature {
            parameters: &[W],
            result: None,
        },
        body: HostBody::Numbers(|_, arguments| Err(Stop::Exit(arguments.word(0) as i32))),
    },
    function("proc_raise", &[W], |_, arguments| {
        Err(Stop::Trap(format!("signal {}", arguments.word(0))))
    }),
    function("random_get", &[W, W], |guest, arguments| {
        let (mut memory, state) = guest.parts();
        let (address, length) = (arguments.word(0), arguments.word(1));
        match memory.bytes_mut(address.into(), length.into()) {
            Ok(bytes) => state.random.fill(bytes).map(|()| SUCCESS),
            Err(OutOfBounds) => Ok(FAULT),
        }
    }),
    function("sched_yield", &[], |_, _| Ok(SUCCESS)),
    function("sock_accept", &[W, W, W], |_, _| Ok(NOT_SUPPORTED)),
    function("sock_recv", &[W, W, W, W, W, W], |_, _| Ok(NOT_SUPPORTED)),
    function("sock_send", &[W, W, W, W, W], |_, _| Ok(NOT_SUPPORTED)),
    function("sock_shutdown", &[W, W], |_, _| Ok(NOT_SUPPORTED)),
];

type Run = fn(&mut dyn Guest, HostArguments<'_>) -> Result<u32, Stop>;

/// A function that returns an error number.
const fn function(name: &'static str, parameters: &'static [NumberType], run: Run) -> HostFunction {
    HostFunction {
        name,
        signature: Signature {
            parameters,
            result: Some(NumberType::I32),
        },
        body: HostBody::Numbers(run),
    }
}

impl From<OutOfBounds> for Errno {
    fn from(_: OutOfBounds) -> Errno {
        FAULT
    }
}

fn answer(called: Called) -> Result<u32, Stop> {
    called.map(|done| done.err().unwrap_or(SUCCESS))
}

/// The answer of a call on a descriptor, if that is a standard stream.
fn on_stream(arguments: HostArguments<'_>, errno: Errno) -> Result<u32, Stop> {
    Ok(match arguments.word(0) {
        0..=2 => errno,
        _ => BAD_DESCRIPTOR,
    })
}

/// Writes texts and a list of their addresses.
fn put_texts(
    guest: &mut dyn Guest,
    arguments: HostArguments<'_>,
    list: &[String],
) -> Result<u32, Stop> {
    let (mut memory, _) = guest.parts();
    let (mut pointer, mut at) = (u64::from(arguments.word(0)), u64::from(arguments.word(1)));
    let mut put = || -> Result<(), OutOfBounds> {
        for text in list {
            let address = u32::try_from(at).map_err(|_| OutOfBounds)?;
            memory.set_u32(pointer, address)?;
            memory.write(at, text.as_bytes())?;
            memory.set_u8(at + text.len() as u64, 0)?;
            pointer += 4;
            at += text.len() as u64 + 1;
        }
        Ok(())
    };
    answer(Ok(put().map_err(Errno::from)))
}

/// Writes the number of texts and how much memory they take.
fn put_sizes(
    guest: &mut dyn Guest,
    arguments: HostArguments<'_>,
    list: &[String],
) -> Result<u32, Stop> {
    let (mut memory, _) = guest.parts();
    let bytes: usize = list.iter().map(|text| text.len() + 1).sum();
    let mut put = || -> Result<(), OutOfBounds> {
        memory.set_u32(arguments.word(0).into(), list.len() as u32)?;
        memory.set_u32(arguments.word(1).into(), bytes as u32)
    };
    answer(Ok(put().map_err(Errno::from)))
}

/// The realtime clock; the others never go back.
const REALTIME: u32 = 0;
const LAST_CLOCK: u32 = 3;

fn clock_resolution(guest: &mut dyn Guest, arguments: HostArguments<'_>) -> Called {
    if arguments.word(0) > LAST_CLOCK {
        return Ok(Err(INVALID));
    }
    let (mut memory, _) = guest.parts();
    Ok(memory
        .set_u64(arguments.word(1).into(), 1_000)
        .map_err(Errno::from))
}

fn clock_time(guest: &mut dyn Guest, arguments: HostArguments<'_>) -> Called {
    let (mut memory, state) = guest.parts();
    let time = match arguments.word(0) {
        REALTIME => state.clock.wall(),
        1..=LAST_CLOCK => state.clock.monotonic(),
        _ => return Ok(Err(INVALID)),
    };
    Ok(memory
        .set_u64(arguments.word(2).into(), time)
        .map_err(Errno::from))
}
