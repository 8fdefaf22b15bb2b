//! A module: its bytes, checked before any engine reads them, and the interface that it has.

mod contents;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use crate::host::{ExportedFunction, HostFunction, MAX_TABLE, NumberType};
use crate::{gojs, wasi1};
use contents::Contents;

/// The largest module, in bytes.
pub const MAX_MODULE: u64 = 100 << 20;

/// The first bytes of every module, and of every component.
const MAGIC: &[u8; 4] = b"\0asm";

/// The version of modules.
const VERSION: u16 = 1;

/// Whether a file with these first bytes is WebAssembly.
pub fn is_wasm(first_bytes: &[u8]) -> bool {
    first_bytes.starts_with(MAGIC)
}

/// A module that can be run.
#[derive(Clone)]
pub struct WasmModule {
    pub(crate) bytes: Arc<Bytes>,
    pub(crate) digest: ModuleDigest,
    pub(crate) interface: WasmInterface,
}

/// A module that is in memory as long as something else uses it.
#[derive(Clone)]
pub(crate) struct WeakModule {
    bytes: Weak<Bytes>,
    digest: ModuleDigest,
    interface: WasmInterface,
}

/// The SHA-256 of a module.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModuleDigest([u8; 32]);

/// The bytes of the modules in memory, so that equal modules share them.
static BYTES: Mutex<BTreeMap<ModuleDigest, Weak<Bytes>>> = Mutex::new(BTreeMap::new());

/// How a module gets its input and returns its output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WasmInterface {
    /// A program of WASI preview 1: standard input, standard output, exit code.
    Wasi1,
    /// A Go program for `js` with a function `processResourceList`.
    GoJs,
}

impl WasmInterface {
    /// The name in identities.
    pub fn name(self) -> &'static str {
        match self {
            WasmInterface::Wasi1 => "wasi1",
            WasmInterface::GoJs => "gojs",
        }
    }
}

/// A function that modules can import.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WasmImport {
    pub module: &'static str,
    pub name: &'static str,
    /// For each parameter, whether it has 64 bits; else it has 32.
    pub is_long: Vec<bool>,
    /// Whether it returns 32 bits.
    pub has_result: bool,
}

/// Why bytes are not a module that can be run.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ModuleError {
    #[error("it is not a WebAssembly module")]
    NotWasm,
    #[error(
        "it is a WebAssembly component, which is not supported; build the function as a module of WASI preview 1 (wasip1)"
    )]
    Component,
    #[error("the module is incomplete: it ends in its first 8 bytes")]
    Incomplete,
    #[error("it has version {0} of the WebAssembly format; only version {VERSION} is supported")]
    Version(u16),
    #[error("it is WebAssembly of an unknown kind ({0}), neither a module nor a component")]
    Kind(u16),
    #[error("the module is larger than {MAX_MODULE} bytes")]
    TooLarge,
    #[error("the module has {count} {what}; at most {limit} are supported")]
    TooMany {
        what: &'static str,
        count: u32,
        limit: u32,
    },
    #[error("the module has a table of {0} elements; at most {MAX_TABLE} are supported")]
    LargeTable(u64),
    #[error("the module is invalid: {0}")]
    Invalid(String),
    #[error(
        "the module exports neither `_start` (a program of WASI preview 1) nor `run`, `resume` and `getsp` (a Go program for js)"
    )]
    NoInterface,
    #[error("the module does not export its memory as {0:?}")]
    NoMemory(&'static str),
    #[error("the module has a start section, which is not supported")]
    StartSection,
    #[error("the module imports {kind} {module:?} {name:?}, which functions cannot use")]
    UnknownImport {
        kind: &'static str,
        module: String,
        name: String,
    },
    #[error(
        "the module imports the function {module:?} {name:?} with another type than {expected}"
    )]
    ImportType {
        module: String,
        name: String,
        expected: String,
    },
    #[error("the module exports the function {name:?} with another type than {expected}")]
    ExportType {
        name: &'static str,
        expected: String,
    },
}

impl WasmInterface {
    /// Each interface. If a module has the exports of several, the first one counts.
    const ALL: [WasmInterface; 2] = [WasmInterface::GoJs, WasmInterface::Wasi1];

    /// The name of the exported memory.
    pub(crate) fn memory(self) -> &'static str {
        match self {
            WasmInterface::Wasi1 => "memory",
            WasmInterface::GoJs => "mem",
        }
    }

    /// The functions that modules with this interface import.
    pub(crate) fn functions(self) -> &'static [HostFunction] {
        match self {
            WasmInterface::Wasi1 => wasi1::FUNCTIONS,
            WasmInterface::GoJs => gojs::FUNCTIONS,
        }
    }

    /// The functions that modules with this interface export.
    fn exports(self) -> &'static [ExportedFunction] {
        match self {
            WasmInterface::Wasi1 => wasi1::EXPORTS,
            WasmInterface::GoJs => gojs::EXPORTS,
        }
    }

    /// The module names under which the functions are imported.
    pub(crate) fn import_modules(self) -> &'static [&'static str] {
        match self {
            WasmInterface::Wasi1 => &[wasi1::MODULE],
            WasmInterface::GoJs => &gojs::MODULES,
        }
    }

    /// The functions that modules with this interface can import.
    pub fn imports(self) -> impl Iterator<Item = WasmImport> {
        let module = self.import_modules().first().copied().unwrap_or_default();
        self.functions().iter().map(move |function| WasmImport {
            module,
            name: function.name,
            is_long: function
                .signature
                .parameters
                .iter()
                .map(|parameter| *parameter == NumberType::I64)
                .collect(),
            has_result: function.signature.result.is_some(),
        })
    }
}

impl WasmModule {
    /// Checks bytes. What engines check is not checked here: types and instructions.
    pub fn parse(bytes: Bytes) -> Result<WasmModule, ModuleError> {
        check_is_wasm(&bytes)?;
        check_header(&bytes)?;
        let interface = Contents::read(&bytes)?.check()?;
        let digest = ModuleDigest::of(&bytes);
        Ok(WasmModule {
            bytes: shared(digest, bytes),
            digest,
            interface,
        })
    }

    pub(crate) fn downgrade(&self) -> WeakModule {
        WeakModule {
            bytes: Arc::downgrade(&self.bytes),
            digest: self.digest,
            interface: self.interface,
        }
    }

    pub fn digest(&self) -> ModuleDigest {
        self.digest
    }

    pub fn interface(&self) -> WasmInterface {
        self.interface
    }

    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

/// Whether bytes are WebAssembly for any runtime.
pub(crate) fn check_is_wasm(bytes: &[u8]) -> Result<(), ModuleError> {
    if !is_wasm(bytes) {
        return Err(ModuleError::NotWasm);
    }
    match bytes.len() as u64 > MAX_MODULE {
        true => Err(ModuleError::TooLarge),
        false => Ok(()),
    }
}

/// After the first bytes there are the version of the format and its kind: 0 for modules, 1 for components.
fn check_header(bytes: &[u8]) -> Result<(), ModuleError> {
    let Some(&[low, high, kind_low, kind_high]) = bytes.get(4..8) else {
        return Err(ModuleError::Incomplete);
    };
    let version = u16::from_le_bytes([low, high]);
    match (u16::from_le_bytes([kind_low, kind_high]), version) {
        (0, VERSION) => Ok(()),
        (1, _) => Err(ModuleError::Component),
        (0, version) => Err(ModuleError::Version(version)),
        (kind, _) => Err(ModuleError::Kind(kind)),
    }
}

impl WeakModule {
    pub(crate) fn upgrade(&self) -> Option<WasmModule> {
        Some(WasmModule {
            bytes: self.bytes.upgrade()?,
            digest: self.digest,
            interface: self.interface,
        })
    }
}

/// The bytes that equal modules share.
fn shared(digest: ModuleDigest, bytes: Bytes) -> Arc<Bytes> {
    let mut known = BYTES.lock().unwrap_or_else(PoisonError::into_inner);
    known.retain(|_, bytes| bytes.strong_count() > 0);
    if let Some(bytes) = known.get(&digest).and_then(Weak::upgrade) {
        return bytes;
    }
    let bytes = Arc::new(bytes);
    known.insert(digest, Arc::downgrade(&bytes));
    bytes
}

impl ModuleDigest {
    pub fn of(bytes: &[u8]) -> ModuleDigest {
        ModuleDigest(Sha256::digest(bytes).into())
    }

    /// A digest from its hexadecimal digits.
    pub(crate) fn parse(hex: &str) -> Option<ModuleDigest> {
        if hex.len() != 64 || !hex.is_ascii() {
            return None;
        }
        let mut digest = [0; 32];
        for (byte, at) in digest.iter_mut().zip((0..64).step_by(2)) {
            *byte = u8::from_str_radix(hex.get(at..at + 2)?, 16).ok()?;
        }
        Some(ModuleDigest(digest))
    }

    #[cfg(feature = "wasm-jit")]
    pub(crate) fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

/// The hexadecimal digits.
impl fmt::Display for ModuleDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ModuleDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sha256:{self}")
    }
}

impl fmt::Debug for WasmModule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WasmModule")
            .field("digest", &self.digest)
            .field("interface", &self.interface)
            .finish_non_exhaustive()
    }
}
