//! What is in a module, read before any engine reads it.
//!
//! A module may be 100 MiB of anything. So numbers are checked before what is counted is read, and only what is needed is kept.

use wasmparser::{
    Export, ExternalKind, FromReader, FuncType, Import, Parser, Payload, SectionLimited, TypeRef,
    ValType,
};

use super::{ModuleError, WasmInterface};
use crate::host::{MAX_TABLE, MAX_TABLES, NumberType, Signature};

/// The most functions that a module may define, and the most types.
const MAX_FUNCTIONS: u32 = 200_000;

/// The most imports. There are some 70 functions to import.
const MAX_IMPORTS: u32 = 10_000;

/// The most exports, as in the engines.
const MAX_EXPORTS: u32 = 1_000_000;

/// What decides about a module.
#[derive(Default)]
pub(super) struct Contents {
    types: Vec<FuncType>,
    /// The type of each function, imported ones first.
    functions: Vec<u32>,
    /// How many functions are not imported.
    defined: u32,
    imports: u32,
    /// For each interface, the first import that it does not have.
    problems: Vec<(WasmInterface, ModuleError)>,
    exports: u32,
    /// Functions that an interface needs, by name.
    exported_functions: Vec<(&'static str, u32)>,
    /// Memories that an interface needs.
    exported_memories: Vec<&'static str>,
    tables: u32,
}

impl Contents {
    pub(super) fn read(bytes: &[u8]) -> Result<Contents, ModuleError> {
        let mut contents = Contents::default();
        for payload in Parser::new(0).parse_all(bytes) {
            match payload.map_err(invalid)? {
                Payload::TypeSection(types) => {
                    let known = contents.types.len() as u32;
                    limit("types", known, &types, MAX_FUNCTIONS)?;
                    for signature in types.into_iter_err_on_gc_types() {
                        contents.types.push(signature.map_err(invalid)?);
                    }
                }
                Payload::ImportSection(imports) => {
                    contents.imports = limit("imports", contents.imports, &imports, MAX_IMPORTS)?;
                    for import in imports {
                        contents.import(import.map_err(invalid)?);
                    }
                }
                Payload::FunctionSection(functions) => {
                    let defined = contents.defined;
                    contents.defined = limit("functions", defined, &functions, MAX_FUNCTIONS)?;
                    for function in functions {
                        contents.functions.push(function.map_err(invalid)?);
                    }
                }
                Payload::TableSection(tables) => {
                    contents.tables = limit("tables", contents.tables, &tables, MAX_TABLES as u32)?;
                    for table in tables {
                        let elements = table.map_err(invalid)?.ty.initial;
                        if elements > MAX_TABLE as u64 {
                            return Err(ModuleError::LargeTable(elements));
                        }
                    }
                }
                Payload::ExportSection(exports) => {
                    contents.exports = limit("exports", contents.exports, &exports, MAX_EXPORTS)?;
                    for export in exports {
                        contents.export(export.map_err(invalid)?);
                    }
                }
                Payload::StartSection { .. } => return Err(ModuleError::StartSection),
                _ => {}
            }
        }
        Ok(contents)
    }

    fn import(&mut self, import: Import<'_>) {
        for interface in WasmInterface::ALL {
            if self.problems.iter().all(|(known, _)| *known != interface)
                && let Some(problem) = self.problem(interface, &import)
            {
                self.problems.push((interface, problem));
            }
        }
        if let TypeRef::Func(signature) = import.ty {
            self.functions.push(signature);
        }
    }

    /// Why a module with an interface cannot have an import.
    fn problem(&self, interface: WasmInterface, import: &Import<'_>) -> Option<ModuleError> {
        let (module, name) = (import.module, import.name);
        let is_known = interface.import_modules().contains(&module);
        let mut functions = interface.functions().iter();
        let function = functions.find(|function| is_known && function.name == name);
        match (import.ty, function) {
            (TypeRef::Func(index), Some(function)) => (!self.has_type(index, function.signature))
                .then(|| ModuleError::ImportType {
                    module: module.to_owned(),
                    name: name.to_owned(),
                    expected: function.signature.to_string(),
                }),
            (kind, _) => Some(ModuleError::UnknownImport {
                kind: match kind {
                    TypeRef::Func(_) => "the function",
                    TypeRef::Memory(_) => "the memory",
                    TypeRef::Table(_) => "the table",
                    TypeRef::Global(_) => "the global",
                    TypeRef::Tag(_) => "the tag",
                },
                module: module.to_owned(),
                name: name.to_owned(),
            }),
        }
    }

    fn export(&mut self, export: Export<'_>) {
        for interface in WasmInterface::ALL {
            let mut functions = interface.exports().iter();
            if export.kind == ExternalKind::Func
                && let Some(function) = functions.find(|function| function.name == export.name)
            {
                self.exported_functions.push((function.name, export.index));
            }
            if export.kind == ExternalKind::Memory && interface.memory() == export.name {
                self.exported_memories.push(interface.memory());
            }
        }
    }

    fn exported_function(&self, name: &str) -> Option<u32> {
        let mut functions = self.exported_functions.iter();
        let (_, index) = functions.find(|(known, _)| *known == name)?;
        self.functions.get(*index as usize).copied()
    }

    /// Whether the type with a number is a signature.
    fn has_type(&self, index: u32, expected: Signature) -> bool {
        let Some(found) = self.types.get(index as usize) else {
            // An engine says what is wrong with the module.
            return true;
        };
        let value_type = |number: &NumberType| match number {
            NumberType::I32 => ValType::I32,
            NumberType::I64 => ValType::I64,
        };
        let parameters = expected.parameters.iter().map(value_type);
        let results = expected.result.iter().map(value_type);
        parameters.eq(found.params().iter().copied()) && results.eq(found.results().iter().copied())
    }

    /// The interface of the module, which has everything that the interface needs.
    pub(super) fn check(self) -> Result<WasmInterface, ModuleError> {
        let has_exports = |interface: &WasmInterface| {
            let mut exports = interface.exports().iter();
            exports.all(|export| self.exported_function(export.name).is_some())
        };
        let interface = WasmInterface::ALL.into_iter().find(has_exports);
        let interface = interface.ok_or(ModuleError::NoInterface)?;
        let memory = interface.memory();
        if !self.exported_memories.contains(&memory) {
            return Err(ModuleError::NoMemory(memory));
        }
        for export in interface.exports() {
            let index = self.exported_function(export.name);
            if index.is_some_and(|index| !self.has_type(index, export.signature)) {
                return Err(ModuleError::ExportType {
                    name: export.name,
                    expected: export.signature.to_string(),
                });
            }
        }
        let mut problems = self.problems.into_iter();
        match problems.find(|(of, _)| *of == interface) {
            None => Ok(interface),
            Some((_, problem)) => Err(problem),
        }
    }
}

/// Refuses a section that makes too many of something. Returns how many there are with those before.
fn limit<'a, T: FromReader<'a>>(
    what: &'static str,
    before: u32,
    section: &SectionLimited<'a, T>,
    limit: u32,
) -> Result<u32, ModuleError> {
    let count = before.saturating_add(section.count());
    match count > limit {
        true => Err(ModuleError::TooMany { what, count, limit }),
        false => Ok(count),
    }
}

fn invalid(error: wasmparser::BinaryReaderError) -> ModuleError {
    ModuleError::Invalid(error.to_string())
}
