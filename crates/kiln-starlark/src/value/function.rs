//! Functions, those of programs and those of the language.

use std::cell::RefCell;
use std::rc::Rc;

use super::{Repr, Value, drop_all};
use crate::compile::Code;
use crate::error::Failure;
use crate::eval::{Arguments, Context};

pub(crate) struct ProgramFunction {
    pub(crate) code: Rc<Code>,
    pub(crate) defaults: Vec<Value>,
    /// The cells of enclosing functions that the body uses.
    pub(crate) free: Vec<Rc<SharedVariable>>,
}

impl ProgramFunction {
    pub(super) fn take(mut self, work: &mut Vec<Value>) {
        work.append(&mut self.defaults);
        work.extend(self.free.drain(..).map(|cell| Value(Repr::Cell(cell))));
    }
}

impl Drop for ProgramFunction {
    fn drop(&mut self) {
        let mut work = std::mem::take(&mut self.defaults);
        work.extend(self.free.drain(..).map(|cell| Value(Repr::Cell(cell))));
        drop_all(work);
    }
}

/// A variable that functions share.
pub(crate) struct SharedVariable(RefCell<Value>);

impl SharedVariable {
    pub(crate) fn new(value: Value) -> SharedVariable {
        SharedVariable(RefCell::new(value))
    }

    pub(crate) fn get(&self) -> Value {
        self.0.borrow().clone()
    }

    pub(crate) fn set(&self, value: Value) {
        let old = self.0.replace(value);
        drop_all(vec![old]);
    }

    pub(super) fn take(self) -> Value {
        self.0.replace(Value::UNSET)
    }
}

impl Drop for SharedVariable {
    fn drop(&mut self) {
        drop_all(vec![self.0.replace(Value::UNSET)]);
    }
}

/// The signature of functions of the language and of modules.
pub type NativeFn = fn(&mut Context<'_>, &Arguments<'_>) -> Result<Value, Failure>;

/// A function of the language, of a module or of the host.
pub struct Builtin {
    name: &'static str,
    pub(crate) function: NativeFn,
    /// The object of a method.
    pub(crate) receiver: Option<Value>,
}

impl Builtin {
    /// A function without a receiver.
    pub fn new(name: &'static str, function: NativeFn) -> Builtin {
        Builtin {
            name,
            function,
            receiver: None,
        }
    }

    pub fn method(name: &'static str, function: NativeFn, receiver: Value) -> Builtin {
        Builtin {
            name,
            function,
            receiver: Some(receiver),
        }
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn take_receiver(mut self) -> Option<Value> {
        self.receiver.take()
    }
}

impl Drop for Builtin {
    fn drop(&mut self) {
        drop_all(self.receiver.take().into_iter().collect());
    }
}
