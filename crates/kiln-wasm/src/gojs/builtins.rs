//! The values of the JavaScript world that Go's runtime and library use: `fs`, `process`, `Date`, constructors.
//!
//! Files do not exist: except for writing to the standard streams, every call of `fs` fails with `ENOSYS`.

use super::values::{GoValues, JsKind, JsValue, ObjectId};

/// A function of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum JsBuiltin {
    Object,
    Array,
    Uint8Array,
    Date,
    Error,
    /// `fs.write`
    Write,
    /// `fs.fsync`, which calls back without an error: what was written is never lost.
    Sync,
    /// Another function of `fs`, which calls back with an error.
    NotImplemented,
    /// A function of `process` that throws.
    Throws,
    /// A function that returns -1.
    MinusOne,
    /// A function that returns zero.
    Zero,
    /// `process.cwd`
    WorkingDirectory,
    /// `console.log` and its kind.
    Print,
    /// `_makeFuncWrapper` of the Go object.
    WrapGoFunction,
}

/// Defines the global object and the Go object, which are the first two objects.
pub(super) fn define(values: &mut GoValues) {
    // Nothing is counted yet, so nothing fails.
    let _ = try_define(values);
}

fn try_define(values: &mut GoValues) -> Result<(), crate::host::Stop> {
    values.global = values.add(JsKind::Plain, 0)?;
    values.go = values.add(JsKind::Plain, 0)?;
    let (global, go) = (values.global, values.go);
    for (name, builtin) in [
        ("Object", JsBuiltin::Object),
        ("Array", JsBuiltin::Array),
        ("Uint8Array", JsBuiltin::Uint8Array),
        ("Date", JsBuiltin::Date),
        ("Error", JsBuiltin::Error),
    ] {
        set_function(values, global, name, builtin)?;
    }
    let process = object(values, global, "process")?;
    for name in ["pid", "ppid"] {
        values.set_property(process, name, JsValue::Number(-1.0))?;
    }
    for name in ["getuid", "getgid", "geteuid", "getegid"] {
        set_function(values, process, name, JsBuiltin::MinusOne)?;
    }
    for name in ["getgroups", "umask", "chdir"] {
        set_function(values, process, name, JsBuiltin::Throws)?;
    }
    set_function(values, process, "cwd", JsBuiltin::WorkingDirectory)?;
    let fs = object(values, global, "fs")?;
    let constants = object(values, fs, "constants")?;
    for name in [
        "O_WRONLY",
        "O_RDWR",
        "O_CREAT",
        "O_TRUNC",
        "O_APPEND",
        "O_EXCL",
        "O_DIRECTORY",
    ] {
        values.set_property(constants, name, JsValue::Number(-1.0))?;
    }
    set_function(values, fs, "write", JsBuiltin::Write)?;
    set_function(values, fs, "fsync", JsBuiltin::Sync)?;
    for name in [
        "chmod",
        "chown",
        "close",
        "fchmod",
        "fchown",
        "fstat",
        "ftruncate",
        "lchown",
        "link",
        "lstat",
        "mkdir",
        "open",
        "read",
        "readdir",
        "readlink",
        "rename",
        "rmdir",
        "stat",
        "symlink",
        "truncate",
        "unlink",
        "utimes",
    ] {
        set_function(values, fs, name, JsBuiltin::NotImplemented)?;
    }
    let console = object(values, global, "console")?;
    for name in ["log", "error", "warn", "info", "debug"] {
        set_function(values, console, name, JsBuiltin::Print)?;
    }
    set_function(values, go, "_makeFuncWrapper", JsBuiltin::WrapGoFunction)?;
    values.set_property(go, "_pendingEvent", JsValue::Null)
}

fn object(
    values: &mut GoValues,
    parent: ObjectId,
    name: &str,
) -> Result<ObjectId, crate::host::Stop> {
    let id = values.add(JsKind::Plain, 0)?;
    values.set_property(parent, name, JsValue::Object(id))?;
    Ok(id)
}

pub(super) fn set_function(
    values: &mut GoValues,
    parent: ObjectId,
    name: &str,
    builtin: JsBuiltin,
) -> Result<(), crate::host::Stop> {
    let id = values.add(JsKind::Builtin(builtin), 0)?;
    values.set_property(parent, name, JsValue::Object(id))
}
