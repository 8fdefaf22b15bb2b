//! Compiles a resolved tree to code for the machine.
//!
//! The order of evaluation is go.starlark.net's, because failures depend on it.

mod code;
mod expression;
mod statement;

use std::collections::HashMap;
use std::rc::Rc;

pub(crate) use code::{CallShape, Capture, Code, Constant, Op, ProgramCode, SlotName};

use crate::dialect::Dialect;
use crate::resolve::{BindingId, FunctionScope, NameScope, Resolution};
use crate::syntax::Position;
use crate::syntax::ast::{Ast, FunctionBody, FunctionId, IdentId, Param};

pub(crate) fn compile(ast: &Ast, resolution: &Resolution, dialect: &Dialect) -> ProgramCode {
    let mut program = ProgramBuilder {
        ast,
        resolution,
        constants: Vec::new(),
        strings: HashMap::new(),
        names: Vec::new(),
        name_index: HashMap::new(),
        functions: vec![None; ast.functions.len()],
        loads: Vec::new(),
    };
    let mut file = Compiler::new(&mut program);
    file.statements(&ast.statements);
    let (ops, positions) = file.finish();
    let scope = FunctionScope {
        locals: resolution.module_locals.clone(),
        ..Default::default()
    };
    let start = ast.first_position();
    let top = program.code("<toplevel>", start, &scope, ops, positions, 0);
    let globals = resolution
        .module_globals
        .iter()
        .map(|id| program.slot_name(*id))
        .collect();
    ProgramCode {
        top: Rc::new(top),
        functions: program.functions,
        constants: program.constants,
        names: program.names,
        globals,
        loads: program.loads,
        recursion: dialect.recursion,
    }
}

/// What all functions of a file share.
struct ProgramBuilder<'a> {
    ast: &'a Ast,
    resolution: &'a Resolution,
    constants: Vec<Constant>,
    /// String constants, without duplicates.
    strings: HashMap<Vec<u8>, u32>,
    names: Vec<String>,
    name_index: HashMap<String, u32>,
    functions: Vec<Option<Rc<Code>>>,
    loads: Vec<String>,
}

impl ProgramBuilder<'_> {
    fn constant(&mut self, constant: Constant) -> u32 {
        let next = u32::try_from(self.constants.len()).unwrap_or(u32::MAX);
        if let Constant::String(text) = &constant {
            if let Some(known) = self.strings.get(text) {
                return *known;
            }
            self.strings.insert(text.clone(), next);
        }
        self.constants.push(constant);
        next
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(known) = self.name_index.get(name) {
            return *known;
        }
        let next = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.name_index.insert(name.to_owned(), next);
        next
    }

    fn slot_name(&self, id: BindingId) -> SlotName {
        let binding = self.resolution.binding(id);
        let name = self.ast.ident(binding.first).name.as_str();
        SlotName {
            name: Rc::from(name),
            is_cell: binding.scope == NameScope::Cell,
        }
    }

    fn capture(&self, id: BindingId) -> Capture {
        let binding = self.resolution.binding(id);
        match binding.scope {
            NameScope::Free => Capture::Free(binding.index),
            _ => Capture::Local(binding.index),
        }
    }

    fn function(&mut self, id: FunctionId) {
        let ast = self.ast;
        let function = ast.function(id);
        let mut compiler = Compiler::new(self);
        compiler.position = function.position;
        match &function.body {
            FunctionBody::Statements(statements) => compiler.statements(statements),
            FunctionBody::Expression(expr) => {
                compiler.expr(*expr);
                compiler.emit(Op::Return);
            }
        }
        let (ops, positions) = compiler.finish();
        let scope = &self.resolution.functions[id.0 as usize];
        let params = function.params.iter();
        let params = params
            .filter(|param| !matches!(param, Param::Star { name: None, .. }))
            .count();
        let code = self.code(
            &function.name,
            function.position,
            scope,
            ops,
            positions,
            params,
        );
        self.functions[id.0 as usize] = Some(Rc::new(code));
    }

    fn code(
        &self,
        name: &str,
        position: Position,
        scope: &FunctionScope,
        ops: Vec<Op>,
        positions: Vec<Position>,
        params: usize,
    ) -> Code {
        let slot_names = |ids: &[BindingId]| ids.iter().map(|id| self.slot_name(*id)).collect();
        Code {
            name: Rc::from(name),
            position,
            ops,
            positions,
            locals: slot_names(&scope.locals),
            free: slot_names(&scope.free),
            captures: scope.free.iter().map(|id| self.capture(*id)).collect(),
            params,
            keyword_only: scope.keyword_only,
            has_varargs: scope.has_varargs,
            has_kwargs: scope.has_kwargs,
        }
    }
}

/// Compiles one function, or the file.
struct Compiler<'p, 'a> {
    program: &'p mut ProgramBuilder<'a>,
    ops: Vec<Op>,
    positions: Vec<Position>,
    /// The position that the next instructions get.
    position: Position,
    loops: Vec<Loop>,
}

/// The current loop: the target of `continue`, and the jumps of `break`.
struct Loop {
    head: u32,
    breaks: Vec<usize>,
}

impl<'p, 'a> Compiler<'p, 'a> {
    fn new(program: &'p mut ProgramBuilder<'a>) -> Compiler<'p, 'a> {
        Compiler {
            program,
            ops: Vec::new(),
            positions: Vec::new(),
            position: Position::default(),
            loops: Vec::new(),
        }
    }

    fn finish(mut self) -> (Vec<Op>, Vec<Position>) {
        self.emit(Op::None);
        self.emit(Op::Return);
        (self.ops, self.positions)
    }

    /// Appends an instruction; returns its index.
    fn emit(&mut self, op: Op) -> usize {
        self.ops.push(op);
        self.positions.push(self.position);
        self.ops.len() - 1
    }

    fn emit_at(&mut self, position: Position, op: Op) -> usize {
        self.position = position;
        self.emit(op)
    }

    fn here(&self) -> u32 {
        u32::try_from(self.ops.len()).unwrap_or(u32::MAX)
    }

    /// Sets the target of the jump at `place` to the next instruction.
    fn land(&mut self, place: usize) {
        let target = self.here();
        if let Some(op) = self.ops.get_mut(place) {
            op.set_target(target);
        }
    }

    fn string(&mut self, text: &[u8]) {
        let constant = self.program.constant(Constant::String(text.to_vec()));
        self.emit(Op::Constant(constant));
    }

    fn load_name(&mut self, ident: IdentId) {
        let ast = self.program.ast;
        let node = ast.ident(ident);
        let Some(binding) = self.program.resolution.meaning(ident) else {
            return;
        };
        if binding.scope != NameScope::Universal {
            self.position = node.position;
        }
        let index = u32::try_from(binding.index).unwrap_or(u32::MAX);
        let op = match binding.scope {
            NameScope::Local => Op::Local(index),
            NameScope::Cell => Op::LocalCell(index),
            NameScope::Free => Op::FreeCell(index),
            NameScope::Global => Op::Global(index),
            NameScope::Predeclared => Op::Predeclared(self.program.name(&node.name)),
            NameScope::Universal => match node.name.as_str() {
                "None" => Op::None,
                "True" => Op::True,
                "False" => Op::False,
                name => Op::Universal(self.program.name(name)),
            },
        };
        self.emit(op);
    }

    fn store_name(&mut self, ident: IdentId) {
        let Some(binding) = self.program.resolution.meaning(ident) else {
            return;
        };
        let index = u32::try_from(binding.index).unwrap_or(u32::MAX);
        self.emit(match binding.scope {
            NameScope::Local => Op::SetLocal(index),
            NameScope::Cell => Op::SetLocalCell(index),
            _ => Op::SetGlobal(index),
        });
    }
}
