//! Programs: parsed once, run as often as wanted.

use std::cell::RefCell;
use std::rc::Rc;

use crate::builtins::{is_universal, universal};
use crate::compile::{Constant, ProgramCode, compile};
use crate::dialect::Dialect;
use crate::error::EvalError;
use crate::eval::{Context, Heap, Host, Linked, Machine};
use crate::resolve::resolve;
use crate::syntax::{ParseFailure, Position, SyntaxError, parse};
use crate::value::{ProgramFunction, Value};

/// A parsed program with resolved names.
pub struct Program {
    name: String,
    code: Rc<ProgramCode>,
}

/// A finished run. The values of the run stay valid as long as it exists.
pub struct Run {
    globals: Vec<(String, Value)>,
    _heap: Heap,
}

impl Program {
    /// Parses a program. `name` is its name in messages; `is_predeclared` returns which names the host provides.
    pub fn parse(
        name: &str,
        source: &[u8],
        dialect: &Dialect,
        is_predeclared: &dyn Fn(&str) -> bool,
    ) -> Result<Program, SyntaxError> {
        let blame = |refuse: ParseFailure| SyntaxError {
            name: name.to_owned(),
            position: refuse.position,
            message: refuse.message,
        };
        if u32::try_from(source.len()).is_err() {
            let message = "program of more than 4 GiB".to_owned();
            return Err(blame(ParseFailure {
                position: Position::new(1, 1),
                message,
            }));
        }
        let ast = parse(source, dialect.complains_at_token).map_err(blame)?;
        let resolution =
            resolve(name, &ast, dialect, is_predeclared, &is_universal).map_err(blame)?;
        let code = Rc::new(compile(&ast, &resolution, dialect));
        Ok(Program {
            name: name.to_owned(),
            code,
        })
    }

    /// The modules that the program loads.
    pub fn loads(&self) -> &[String] {
        &self.code.loads
    }

    /// Runs the program. `predeclared` contains the values of the names that the host provides.
    pub fn run<'a>(
        &self,
        predeclared: &[(&str, Value)],
        host: &'a mut Host<'a>,
    ) -> Result<Run, EvalError> {
        let linked = Rc::new(self.link(predeclared));
        let mut ctx = Context::new(host, Rc::clone(&linked));
        let top = ProgramFunction {
            code: Rc::clone(&self.code.top),
            defaults: Vec::new(),
            free: Vec::new(),
        };
        let result = Machine::default().run_function(&mut ctx, &Rc::new(top), &[]);
        result.map_err(|failure| failure.into_error(&self.name))?;
        let names = self
            .code
            .globals
            .iter()
            .map(|global| global.name.to_string());
        let values = linked.globals.take();
        let globals = names
            .zip(values)
            .filter(|(_, value)| !value.is_unset())
            .collect();
        Ok(Run {
            globals,
            _heap: std::mem::take(&mut ctx.heap),
        })
    }

    fn link(&self, predeclared: &[(&str, Value)]) -> Linked {
        let constants = self.code.constants.iter().map(|constant| match constant {
            Constant::Int(int) => Value::from(*int),
            Constant::Big(big) => Value::from(big.clone()),
            Constant::Float(float) => Value::from(*float),
            Constant::String(text) => Value::string(text),
            Constant::Bytes(bytes) => Value::bytes(bytes),
        });
        let find = |name: &String| {
            let found = predeclared.iter().find(|(other, _)| other == name);
            found.map_or(Value::UNSET, |(_, value)| value.clone())
        };
        let names = &self.code.names;
        Linked {
            code: Rc::clone(&self.code),
            constants: constants.collect(),
            predeclared: names.iter().map(find).collect(),
            universal: names
                .iter()
                .map(|name| universal(name).unwrap_or(Value::UNSET))
                .collect(),
            globals: RefCell::new(vec![Value::UNSET; self.code.globals.len()]),
        }
    }
}

impl Run {
    /// The value of a global variable.
    pub fn global(&self, name: &str) -> Option<&Value> {
        self.globals
            .iter()
            .find(|(other, _)| other == name)
            .map(|(_, value)| value)
    }
}
