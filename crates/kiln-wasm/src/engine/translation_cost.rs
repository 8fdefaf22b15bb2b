//! What an engine would spend on a module, counted before it begins: nothing stops an engine while it translates.
//!
//! Some instructions have two bytes and are translated to a thousand copies: a branch to a block with 1,000 results is one. So the
//! values that branches, blocks and calls pass are added up, and a module may have some for each of its bytes. Compilers need
//! none of that: almost all branches have no value or one, and the arguments of calls are pushed one by one.

use wasmparser::{
    BlockType, ConstExpr, DataKind, ElementItems, ElementKind, FuncType, FunctionBody, Operator,
    Parser, Payload, TableInit, TypeRef,
};

use super::EngineError;

/// The largest function, in bytes. Other engines have the same limit.
const MAX_FUNCTION: usize = 7_654_321;

/// How many values branches, blocks and calls may pass, besides one for each 16 bytes of the module.
const MAX_VALUES: u64 = 1_000_000;

/// How many local variables all functions together may have, besides one for each byte of the module.
const MAX_LOCALS: u64 = 10_000_000;

/// How many elements all segments for tables may have. No table has more than 200,000.
const MAX_ELEMENTS: u64 = 1_000_000;

/// The longest constant expression, in bytes. The interpreter recurses over its operators.
const MAX_EXPRESSION: usize = 1024;

/// The arguments and results of a call that cost no more than the call.
const CHEAP_CALL: u64 = 16;

/// What the interpreter takes for each value, in bytes.
const BYTES_PER_VALUE: u64 = 32;

/// What translating a module costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TranslationCost {
    /// How many values branches, blocks and calls pass.
    pub(crate) values: u64,
}

impl TranslationCost {
    /// The memory that the code takes because of the values.
    pub(crate) fn memory(self) -> u64 {
        self.values.saturating_mul(BYTES_PER_VALUE)
    }
}

/// Refuses a module that an engine would spend too much time or memory on. What is invalid is left to the engine, which reports it.
pub(crate) fn check(module: &[u8]) -> Result<TranslationCost, EngineError> {
    let mut counted = Counted::new(module.len() as u64);
    for payload in Parser::new(0).parse_all(module).map_while(Result::ok) {
        counted.add(payload)?;
    }
    Ok(TranslationCost {
        values: counted.values.count,
    })
}

/// What was counted so far.
struct Counted {
    /// For each type, the numbers of its parameters and results.
    types: Vec<Arity>,
    /// The type of each function, imported ones first.
    functions: Vec<u32>,
    /// The function whose body comes next.
    next: usize,
    values: Limited,
    locals: Limited,
    elements: Limited,
}

/// A number that must not become too large.
struct Limited {
    what: &'static str,
    count: u64,
    limit: u64,
}

impl Limited {
    fn new(what: &'static str, limit: u64) -> Limited {
        Limited {
            what,
            count: 0,
            limit,
        }
    }

    fn add(&mut self, count: u64) -> Result<(), EngineError> {
        self.count = self.count.saturating_add(count);
        match self.count > self.limit {
            true => Err(EngineError(format!(
                "the module has more than {} {}, which takes too much time and memory to translate",
                self.limit, self.what
            ))),
            false => Ok(()),
        }
    }
}

/// How many parameters and results a block or function has.
#[derive(Clone, Copy, Default)]
struct Arity {
    parameters: u64,
    results: u64,
}

impl Arity {
    fn of(signature: &FuncType) -> Arity {
        Arity {
            parameters: signature.params().len() as u64,
            results: signature.results().len() as u64,
        }
    }

    /// The values that a call passes beyond those of an ordinary call.
    fn of_call(self) -> u64 {
        (self.parameters + self.results).saturating_sub(CHEAP_CALL)
    }

    /// The values that entering and leaving a block pass, for both branches of an `if`.
    fn of_block(self) -> u64 {
        2 * (of_branch(self.parameters) + of_branch(self.results))
    }
}

/// The values that a branch passes beyond the one of an ordinary branch.
fn of_branch(values: u64) -> u64 {
    values.saturating_sub(1)
}

impl Counted {
    fn new(size: u64) -> Counted {
        Counted {
            types: Vec::new(),
            functions: Vec::new(),
            next: 0,
            values: Limited::new(
                "values of branches, blocks and calls",
                MAX_VALUES + size / 16,
            ),
            locals: Limited::new("local variables", MAX_LOCALS + size),
            elements: Limited::new("elements for tables", MAX_ELEMENTS),
        }
    }

    fn add(&mut self, payload: Payload<'_>) -> Result<(), EngineError> {
        match payload {
            Payload::TypeSection(types) => {
                let types = types.into_iter_err_on_gc_types().map_while(Result::ok);
                self.types.extend(types.map(|known| Arity::of(&known)));
            }
            Payload::ImportSection(imports) => {
                let imports = imports.into_iter().map_while(Result::ok);
                let functions = imports.filter_map(|import| match import.ty {
                    TypeRef::Func(signature) => Some(signature),
                    _ => None,
                });
                self.functions.extend(functions);
                self.next = self.functions.len();
            }
            Payload::FunctionSection(functions) => {
                let functions = functions.into_iter().map_while(Result::ok);
                self.functions.extend(functions);
            }
            Payload::CodeSectionEntry(body) => self.add_function(&body)?,
            Payload::TableSection(tables) => {
                for table in tables.into_iter().map_while(Result::ok) {
                    if let TableInit::Expr(value) = table.init {
                        check_expression(&value)?;
                    }
                }
            }
            Payload::GlobalSection(globals) => {
                for global in globals.into_iter().map_while(Result::ok) {
                    check_expression(&global.init_expr)?;
                }
            }
            Payload::DataSection(segments) => {
                for segment in segments.into_iter().map_while(Result::ok) {
                    if let DataKind::Active { offset_expr, .. } = segment.kind {
                        check_expression(&offset_expr)?;
                    }
                }
            }
            Payload::ElementSection(segments) => {
                for segment in segments.into_iter().map_while(Result::ok) {
                    if let ElementKind::Active { offset_expr, .. } = segment.kind {
                        check_expression(&offset_expr)?;
                    }
                    self.add_elements(segment.items)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add_elements(&mut self, items: ElementItems<'_>) -> Result<(), EngineError> {
        match items {
            ElementItems::Functions(functions) => self.elements.add(functions.count().into()),
            ElementItems::Expressions(_, expressions) => {
                self.elements.add(expressions.count().into())?;
                let mut expressions = expressions.into_iter().map_while(Result::ok);
                expressions.try_for_each(|expression| check_expression(&expression))
            }
        }
    }

    fn add_function(&mut self, body: &FunctionBody<'_>) -> Result<(), EngineError> {
        let index = self.next;
        self.next += 1;
        let bytes = body.range().len();
        if bytes > MAX_FUNCTION {
            return Err(EngineError(format!(
                "function {index} of the module has {bytes} bytes; at most {MAX_FUNCTION} are supported"
            )));
        }
        self.locals.add(local_variables(body))?;
        let function = self.function(index);
        let values = self.values_of(body, function);
        self.values.add(function.of_call().saturating_add(values))
    }

    /// The values that the instructions of a function pass.
    fn values_of(&self, body: &FunctionBody<'_>, function: Arity) -> u64 {
        let Ok(mut instructions) = body.get_operators_reader() else {
            return 0;
        };
        // For each block around the instruction, the values of a branch to it.
        let mut blocks = vec![function.results];
        let mut values = 0_u64;
        while let Ok(instruction) = instructions.read() {
            let passed = match instruction {
                Operator::Block { blockty } | Operator::If { blockty } => {
                    let block = self.block(blockty);
                    blocks.push(block.results);
                    block.of_block()
                }
                Operator::Loop { blockty } => {
                    let block = self.block(blockty);
                    blocks.push(block.parameters);
                    block.of_block()
                }
                Operator::End => {
                    blocks.pop();
                    0
                }
                Operator::Br { relative_depth } | Operator::BrIf { relative_depth } => {
                    of_branch(branch_values(&blocks, relative_depth))
                }
                Operator::BrTable { targets } => {
                    let all = targets.targets().map_while(Result::ok);
                    let all = all.chain([targets.default()]);
                    all.map(|target| of_branch(branch_values(&blocks, target)))
                        .fold(0, u64::saturating_add)
                }
                Operator::Return => of_branch(function.results),
                Operator::Call { function_index } => {
                    self.function(function_index as usize).of_call()
                }
                Operator::CallIndirect { type_index, .. } => self.arity(type_index).of_call(),
                // Other instructions pass no values, or are of proposals that no engine here supports.
                _ => 0,
            };
            values = values.saturating_add(passed);
        }
        values
    }

    fn block(&self, block: BlockType) -> Arity {
        match block {
            BlockType::Empty => Arity::default(),
            BlockType::Type(_) => Arity {
                parameters: 0,
                results: 1,
            },
            BlockType::FuncType(index) => self.arity(index),
        }
    }

    fn function(&self, index: usize) -> Arity {
        let signature = self.functions.get(index).copied();
        signature.map_or_else(Arity::default, |signature| self.arity(signature))
    }

    fn arity(&self, index: u32) -> Arity {
        self.types.get(index as usize).copied().unwrap_or_default()
    }
}

/// The values of a branch out of as many blocks.
fn branch_values(blocks: &[u64], depth: u32) -> u64 {
    let index = blocks.len().checked_sub(depth as usize + 1);
    index
        .and_then(|index| blocks.get(index))
        .copied()
        .unwrap_or(0)
}

pub(crate) fn local_variables(body: &FunctionBody<'_>) -> u64 {
    let Ok(locals) = body.get_locals_reader() else {
        return 0;
    };
    let counts = locals.into_iter().map_while(Result::ok);
    counts.map(|(count, _)| u64::from(count)).sum()
}

fn check_expression(expression: &ConstExpr<'_>) -> Result<(), EngineError> {
    let bytes = expression.get_binary_reader().bytes_remaining();
    match bytes > MAX_EXPRESSION {
        true => Err(EngineError(format!(
            "a constant expression of the module has {bytes} bytes; at most {MAX_EXPRESSION} are supported"
        ))),
        false => Ok(()),
    }
}
