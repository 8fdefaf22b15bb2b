//! Resolves each name: local, cell, free, global, predeclared or universal.
//!
//! The rules, the order of checks and the messages are those of go.starlark.net. It reports only the first of its
//! errors, so resolving stops at the first.

mod function;
mod names;

use std::collections::HashMap;

use crate::dialect::Dialect;
use crate::syntax::ast::{
    Argument, Ast, Body, Clause, DictEntry, ExprId, ExprKind, FunctionId, IdentId, Load, Stmt,
};
use crate::syntax::{ParseFailure, Position, Token, refuse};

/// Where the value of a name is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameScope {
    /// In a slot of the function, or of the file.
    Local,
    /// In a slot that inner functions share.
    Cell,
    /// In a cell of an enclosing function.
    Free,
    Global,
    Predeclared,
    Universal,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Binding {
    pub(crate) scope: NameScope,
    pub(crate) index: usize,
    /// The identifier that introduced the name.
    pub(crate) first: IdentId,
}

/// The index of a [`Binding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BindingId(usize);

#[derive(Debug, Default)]
pub(crate) struct Resolution {
    bindings: Vec<Binding>,
    idents: Vec<Option<BindingId>>,
    pub(crate) functions: Vec<FunctionScope>,
    pub(crate) module_locals: Vec<BindingId>,
    pub(crate) module_globals: Vec<BindingId>,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct FunctionScope {
    /// Parameters first, `*args` and `**kwargs` after the others.
    pub(crate) locals: Vec<BindingId>,
    pub(crate) free: Vec<BindingId>,
    pub(crate) has_varargs: bool,
    pub(crate) has_kwargs: bool,
    pub(crate) keyword_only: usize,
}

impl Resolution {
    pub(crate) fn binding(&self, id: BindingId) -> Binding {
        self.bindings[id.0]
    }

    /// The binding of an identifier. Every identifier has one once resolving has succeeded.
    pub(crate) fn meaning(&self, ident: IdentId) -> Option<Binding> {
        let id = self.idents.get(ident.0 as usize).copied().flatten()?;
        self.bindings.get(id.0).copied()
    }
}

pub(crate) fn resolve(
    program: &str,
    ast: &Ast,
    dialect: &Dialect,
    is_predeclared: &dyn Fn(&str) -> bool,
    is_universal: &dyn Fn(&str) -> bool,
) -> Result<Resolution, ParseFailure> {
    let mut resolver = Resolver {
        program,
        ast,
        dialect,
        is_predeclared,
        is_universal,
        out: Resolution {
            idents: vec![None; ast.idents.len()],
            functions: vec![FunctionScope::default(); ast.functions.len()],
            ..Resolution::default()
        },
        blocks: vec![Block::default()],
        current: FILE,
        globals: HashMap::new(),
        predeclared: HashMap::new(),
        loops: 0,
        conditionals: 0,
    };
    resolver.statements(&ast.statements)?;
    resolver.resolve_local_uses(FILE);
    resolver.resolve_other_uses()?;
    Ok(resolver.out)
}

const FILE: usize = 0;

/// A lexical block: the file, a function or a comprehension.
#[derive(Default)]
struct Block {
    parent: Option<usize>,
    function: Option<FunctionId>,
    bindings: HashMap<String, BindingId>,
    children: Vec<usize>,
    /// The uses of identifiers in this container, with their blocks.
    uses: Vec<(IdentId, usize)>,
}

struct Resolver<'a> {
    /// The name of the program, for one message.
    program: &'a str,
    ast: &'a Ast,
    dialect: &'a Dialect,
    is_predeclared: &'a dyn Fn(&str) -> bool,
    is_universal: &'a dyn Fn(&str) -> bool,
    out: Resolution,
    blocks: Vec<Block>,
    current: usize,
    globals: HashMap<String, BindingId>,
    predeclared: HashMap<String, BindingId>,
    /// The depth of loops in the current function.
    loops: usize,
    conditionals: usize,
}

type Resolved<T = ()> = Result<T, ParseFailure>;

impl Resolver<'_> {
    fn statements(&mut self, statements: &[Stmt]) -> Resolved {
        statements
            .iter()
            .try_for_each(|statement| self.statement(statement))
    }

    fn statement(&mut self, statement: &Stmt) -> Resolved {
        match statement {
            Stmt::Expr(expr) => self.expr(*expr),
            Stmt::Pass => Ok(()),
            Stmt::Break(position) if self.loops == 0 => refuse(*position, "break not in a loop"),
            Stmt::Continue(position) if self.loops == 0 => {
                refuse(*position, "continue not in a loop")
            }
            Stmt::Break(_) | Stmt::Continue(_) => Ok(()),
            Stmt::If { arms, otherwise } => {
                let before = self.conditionals;
                for arm in arms {
                    self.check_top_level("if statement", arm.position)?;
                    self.expr(arm.condition)?;
                    self.conditionals += 1;
                    self.statements(&arm.body)?;
                }
                self.statements(otherwise)?;
                self.conditionals = before;
                Ok(())
            }
            Stmt::Assign { target, value, .. } => {
                self.expr(*value)?;
                self.assign(*target, false)
            }
            Stmt::Augment { target, value, .. } => {
                self.expr(*value)?;
                self.assign(*target, true)
            }
            Stmt::Def { name, function } => {
                if !self.dialect.nested_functions && self.current_function().is_some() {
                    let position = self.ast.function(*function).position;
                    return refuse(position, lacks("nested def"));
                }
                self.bind(*name)?;
                self.function(*function)
            }
            Stmt::For {
                position,
                variables,
                iterable,
                body,
            } => {
                self.check_top_level("for loop", *position)?;
                self.expr(*iterable)?;
                self.assign(*variables, false)?;
                self.loop_body(body)
            }
            Stmt::While {
                position,
                condition,
                body,
            } => {
                if !self.dialect.while_loops {
                    return refuse(*position, lacks("while loops"));
                }
                self.check_top_level("while loop", *position)?;
                self.expr(*condition)?;
                self.loop_body(body)
            }
            Stmt::Return { position, value } => {
                if self.current_function().is_none() {
                    return refuse(*position, "return statement not within a function");
                }
                value.map_or(Ok(()), |value| self.expr(value))
            }
            Stmt::Load(load) => self.load(load),
        }
    }

    fn loop_body(&mut self, body: &[Stmt]) -> Resolved {
        self.loops += 1;
        self.statements(body)?;
        self.loops -= 1;
        Ok(())
    }

    fn check_top_level(&self, what: &str, position: Position) -> Resolved {
        if self.dialect.top_level_control || self.current_function().is_some() {
            return Ok(());
        }
        refuse(position, format!("{what} not within a function"))
    }

    fn load(&mut self, load: &Load) -> Resolved {
        let place = if self.current_function().is_some() {
            Some("function")
        } else if self.loops > 0 {
            Some("loop")
        } else if self.conditionals > 0 {
            Some("conditional")
        } else {
            None
        };
        if let Some(place) = place {
            return refuse(load.position, format!("load statement within a {place}"));
        }
        for name in &load.names {
            if name.from.is_empty() {
                return refuse(name.from_position, "load: empty identifier");
            }
            if name.from.starts_with('_') {
                let hint = "names with leading underscores are not exported";
                return refuse(name.from_position, format!("load: {hint}: {}", name.from));
            }
            if self.bind_local(name.to) && !self.dialect.global_reassign {
                let ident = self.ast.ident(name.to);
                let message = format!("cannot reassign top-level {}", ident.name);
                return refuse(ident.position, message);
            }
        }
        Ok(())
    }

    fn assign(&mut self, target: ExprId, augmented: bool) -> Resolved {
        let ast = self.ast;
        let target = &ast.expr(ast.unparen(target));
        match &target.kind {
            ExprKind::Ident(name) => self.bind(*name).map(|_| ()),
            ExprKind::Index { object, index, .. } => {
                self.expr(*object)?;
                self.expr(*index)
            }
            ExprKind::Dot { object, .. } => self.expr(*object),
            ExprKind::Tuple(list) | ExprKind::List(list) => {
                if augmented {
                    let tuple = matches!(target.kind, ExprKind::Tuple(_));
                    let what = if tuple { "tuple" } else { "list" };
                    let message = format!("can't use {what} expression in augmented assignment");
                    return refuse(target.start, message);
                }
                list.iter()
                    .try_for_each(|element| self.assign(*element, augmented))
            }
            other => refuse(
                target.start,
                format!("can't assign to {}", other.description()),
            ),
        }
    }

    fn expr(&mut self, expr: ExprId) -> Resolved {
        let ast = self.ast;
        let (base, chain) = ast.left_chain(expr);
        self.base_expr(base)?;
        for link in chain.into_iter().rev() {
            match &ast.expr(link).kind {
                ExprKind::Binary {
                    operator,
                    position,
                    right,
                    ..
                } => {
                    if *operator == Token::Slash && !self.dialect.floats {
                        let message = lacks("floating point (use //)");
                        return refuse(*position, message);
                    }
                    self.expr(*right)?;
                }
                ExprKind::Index { index, .. } => self.expr(*index)?,
                ExprKind::Slice(slice) => {
                    for part in [slice.low, slice.high, slice.step].into_iter().flatten() {
                        self.expr(part)?;
                    }
                }
                ExprKind::Call { arguments, .. } => self.arguments(link, arguments)?,
                _ => {}
            }
        }
        Ok(())
    }

    fn base_expr(&mut self, expr: ExprId) -> Resolved {
        let ast = self.ast;
        let node = ast.expr(expr);
        match &node.kind {
            ExprKind::Ident(name) => self.use_name(*name),
            ExprKind::Float(_) if !self.dialect.floats => {
                refuse(node.start, lacks("floating point"))
            }
            ExprKind::List(list) | ExprKind::Tuple(list) => {
                list.iter().try_for_each(|element| self.expr(*element))
            }
            ExprKind::Dict(entries) => entries.iter().try_for_each(|entry| self.entry(*entry)),
            ExprKind::Comprehension(comprehension) => {
                self.comprehension(comprehension.body, &comprehension.clauses)
            }
            ExprKind::Cond { condition, yes, no } => {
                self.expr(*condition)?;
                self.expr(*yes)?;
                self.expr(*no)
            }
            ExprKind::Lambda(_) if !self.dialect.lambdas => refuse(node.start, lacks("lambda")),
            ExprKind::Lambda(function) => self.function(*function),
            ExprKind::Unary { operand, .. } => self.expr(*operand),
            _ => Ok(()),
        }
    }

    fn entry(&mut self, entry: DictEntry) -> Resolved {
        self.expr(entry.key)?;
        self.expr(entry.value)
    }

    fn comprehension(&mut self, body: Body, clauses: &[Clause]) -> Resolved {
        // The iterable of the first clause belongs to the enclosing block.
        if let Some(Clause::For { iterable, .. }) = clauses.first() {
            self.expr(*iterable)?;
        }
        self.push_block(None);
        for (i, clause) in clauses.iter().enumerate() {
            match clause {
                Clause::For {
                    variables,
                    iterable,
                    ..
                } => {
                    self.assign(*variables, false)?;
                    if i > 0 {
                        self.expr(*iterable)?;
                    }
                }
                Clause::If(condition) => self.expr(*condition)?,
            }
        }
        match body {
            Body::List(element) => self.expr(element)?,
            Body::Dict(entry) => self.entry(entry)?,
        }
        self.pop_block();
        Ok(())
    }

    fn arguments(&mut self, call: ExprId, arguments: &[Argument]) -> Resolved {
        let mut star = false;
        let mut star_star = false;
        let mut names: Vec<&str> = Vec::new();
        let mut positional = 0;
        let mut named = 0;
        for argument in arguments {
            match argument {
                Argument::StarStar { position, value } => {
                    if star_star {
                        return refuse(*position, "multiple **kwargs not allowed");
                    }
                    star_star = true;
                    self.expr(*value)?;
                }
                Argument::Star { position, value } => {
                    if star_star {
                        return refuse(*position, "*args may not follow **kwargs");
                    }
                    if star {
                        return refuse(*position, "multiple *args not allowed");
                    }
                    star = true;
                    self.expr(*value)?;
                }
                Argument::Named {
                    name,
                    position,
                    value,
                } => {
                    named += 1;
                    if let Some(before) = stars(star, star_star) {
                        let message = format!("keyword argument may not follow {before}");
                        return refuse(*position, message);
                    }
                    if names.contains(&name.as_str()) {
                        let name = kiln_go::quote(name);
                        let message = format!("keyword argument {name} is repeated");
                        return refuse(*position, message);
                    }
                    names.push(name);
                    self.expr(*value)?;
                }
                Argument::Positional(value) => {
                    positional += 1;
                    let start = self.ast.expr(*value).start;
                    let before = if star {
                        Some("*args")
                    } else {
                        stars(star, star_star)
                    };
                    let before = before.or((!names.is_empty()).then_some("named"));
                    if let Some(before) = before {
                        let message = format!("positional argument may not follow {before}");
                        return refuse(start, message);
                    }
                    self.expr(*value)?;
                }
            }
        }
        for (count, kind) in [(positional, "positional"), (named, "keyword")] {
            if count >= 256 {
                let message = format!("{count} {kind} arguments in call, limit is 255");
                return refuse(self.ast.expr(call).start, message);
            }
        }
        Ok(())
    }
}

/// The error about a feature that the dialect lacks.
fn lacks(feature: &str) -> String {
    format!("this Starlark dialect does not support {feature}")
}

/// Which starred argument has been seen, the last kind first.
fn stars(star: bool, star_star: bool) -> Option<&'static str> {
    if star_star {
        Some("**kwargs")
    } else if star {
        Some("*args")
    } else {
        None
    }
}
