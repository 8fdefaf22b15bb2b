//! The instructions of the machine.

use std::rc::Rc;

use num_bigint::BigInt;

use crate::syntax::{Operator, Position};
use crate::value::Comparison;

pub(crate) struct ProgramCode {
    pub(crate) top: Rc<Code>,
    pub(crate) functions: Vec<Option<Rc<Code>>>,
    pub(crate) constants: Vec<Constant>,
    pub(crate) names: Vec<String>,
    pub(crate) globals: Vec<SlotName>,
    pub(crate) loads: Vec<String>,
    pub(crate) recursion: bool,
}

#[derive(Debug)]
pub(crate) enum Constant {
    Int(i64),
    Big(BigInt),
    Float(f64),
    String(Vec<u8>),
    Bytes(Vec<u8>),
}

#[derive(Debug)]
pub(crate) struct Code {
    /// Shared by all stack frames of the function.
    pub(crate) name: Rc<str>,
    pub(crate) position: Position,
    pub(crate) ops: Vec<Op>,
    /// A position for every instruction.
    pub(crate) positions: Vec<Position>,
    /// All variables, parameters first.
    pub(crate) locals: Vec<SlotName>,
    pub(crate) free: Vec<SlotName>,
    /// Where the enclosing function has the free variables.
    pub(crate) captures: Vec<Capture>,
    /// The number of parameters, including `*args` and `**kwargs`.
    pub(crate) params: usize,
    pub(crate) keyword_only: usize,
    pub(crate) has_varargs: bool,
    pub(crate) has_kwargs: bool,
}

/// A cell of the enclosing function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Capture {
    Local(usize),
    Free(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct SlotName {
    pub(crate) name: Rc<str>,
    pub(crate) is_cell: bool,
}

/// An instruction. Operands are taken from the stack, the last on top.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Op {
    /// Copies the topmost value.
    Dup,
    /// Copies the two topmost values.
    Dup2,
    Pop,
    /// Exchanges the two topmost values.
    Exchange,
    Compare(Comparison),
    Binary(Operator),
    Plus,
    Minus,
    Invert,
    Not,
    /// `+=`, which extends lists.
    AddInPlace,
    /// `|=`, which updates dicts.
    MergeInPlace,
    None,
    True,
    False,
    Mandatory,
    Constant(u32),
    Jump(u32),
    JumpIfNot(u32),
    /// Jumps and keeps the value, or continues without it.
    JumpIfOrPop(u32),
    JumpIfNotOrPop(u32),
    /// Starts an iteration over a value.
    IterPush,
    /// Takes the next element of the innermost iteration, or jumps.
    IterNext(u32),
    IterPop,
    Return,
    Index,
    SetIndex,
    /// `object[constant]`
    IndexConstant(u32),
    Slice,
    Attribute(u32),
    SetField(u32),
    /// Finds the method for the following call: pushes it below its object, or pushes a plain attribute with an empty
    /// slot above it.
    Method(u32),
    Call(CallShape),
    /// Calls the value that [`Op::Method`] found.
    CallMethod(CallShape),
    MakeTuple(u32),
    MakeList(u32),
    MakeDict,
    /// Sets an entry of the dict under key and value, and keeps the dict.
    SetEntry,
    /// The same for a key that does not exist yet.
    AddEntry,
    /// Appends to the list under the value, and keeps the list.
    Append,
    /// Unpacks a sequence of that many elements, the first on top.
    Unpack(u32),
    /// Makes a function; that many defaults are on the stack.
    MakeFunction {
        function: u32,
        defaults: u16,
    },
    /// Loads names from a module; names and module are on the stack, the values replace the names.
    Load(u32),
    Local(u32),
    LocalCell(u32),
    FreeCell(u32),
    Global(u32),
    Predeclared(u32),
    Universal(u32),
    SetLocal(u32),
    SetLocalCell(u32),
    SetGlobal(u32),
}

/// The stack of a call above the callee: positional values, then names with values, then the list and the dict.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallShape {
    pub(crate) positional: u8,
    pub(crate) named: u8,
    pub(crate) list: bool,
    pub(crate) dict: bool,
}

impl Op {
    pub(super) fn set_target(&mut self, place: u32) {
        match self {
            Op::Jump(target)
            | Op::JumpIfNot(target)
            | Op::JumpIfOrPop(target)
            | Op::JumpIfNotOrPop(target)
            | Op::IterNext(target) => *target = place,
            _ => {}
        }
    }
}
