//! Statements.

use super::{Compiler, Loop, Op};
use crate::syntax::ast::{ExprId, ExprKind, IfArm, Stmt};
use crate::syntax::{Operator, Position, Token};

impl Compiler<'_, '_> {
    pub(super) fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            Stmt::Expr(expr) => {
                let is_literal = matches!(
                    self.program.ast.expr(*expr).kind,
                    ExprKind::Int(_)
                        | ExprKind::Big(_)
                        | ExprKind::Float(_)
                        | ExprKind::String(_)
                        | ExprKind::Bytes(_)
                );
                if !is_literal {
                    self.expr(*expr);
                    self.emit(Op::Pop);
                }
            }
            Stmt::Pass => {}
            Stmt::Break(_) => {
                let jump = self.emit(Op::Jump(0));
                if let Some(around) = self.loops.last_mut() {
                    around.breaks.push(jump);
                }
            }
            Stmt::Continue(_) => {
                if let Some(around) = self.loops.last() {
                    self.emit(Op::Jump(around.head));
                }
            }
            Stmt::If { arms, otherwise } => self.conditional(arms, otherwise),
            Stmt::Assign {
                position,
                target,
                value,
            } => {
                self.expr(*value);
                self.assign(*position, *target);
            }
            Stmt::Augment {
                position,
                operator,
                target,
                value,
            } => {
                self.augment(*position, *operator, *target, *value);
            }
            Stmt::Def { name, function } => {
                self.function(*function);
                self.store_name(*name);
            }
            Stmt::For {
                position,
                variables,
                iterable,
                body,
            } => {
                let (head, next) = self.begin_loop(*position, *variables, *iterable);
                let breaks = self.body(head, body);
                self.emit(Op::Jump(head));
                for jump in breaks.into_iter().chain([next]) {
                    self.land(jump);
                }
                self.emit(Op::IterPop);
            }
            Stmt::While {
                condition, body, ..
            } => {
                let head = self.here();
                self.expr(*condition);
                let end = self.emit(Op::JumpIfNot(0));
                let breaks = self.body(head, body);
                self.emit(Op::Jump(head));
                for jump in breaks.into_iter().chain([end]) {
                    self.land(jump);
                }
            }
            Stmt::Return { value, .. } => {
                match value {
                    Some(value) => self.expr(*value),
                    None => {
                        self.emit(Op::None);
                    }
                }
                self.emit(Op::Return);
            }
            Stmt::Load(load) => {
                for name in &load.names {
                    self.string(name.from.as_bytes());
                }
                self.string(&load.module);
                self.program
                    .loads
                    .push(String::from_utf8_lossy(&load.module).into_owned());
                let count = u32::try_from(load.names.len()).unwrap_or(u32::MAX);
                self.emit_at(load.position, Op::Load(count));
                for name in load.names.iter().rev() {
                    self.store_name(name.to);
                }
            }
        }
    }

    /// Compiles the head of a loop; returns where it repeats, and the jump that ends it.
    pub(super) fn begin_loop(
        &mut self,
        position: Position,
        variables: ExprId,
        iterable: ExprId,
    ) -> (u32, usize) {
        self.expr(iterable);
        self.emit_at(position, Op::IterPush);
        let head = self.here();
        let next = self.emit(Op::IterNext(0));
        self.assign(position, variables);
        (head, next)
    }

    /// Compiles the body of a loop; returns its breaks.
    fn body(&mut self, head: u32, body: &[Stmt]) -> Vec<usize> {
        self.loops.push(Loop {
            head,
            breaks: Vec::new(),
        });
        self.statements(body);
        self.loops
            .pop()
            .map(|around| around.breaks)
            .unwrap_or_default()
    }

    fn conditional(&mut self, arms: &[IfArm], otherwise: &[Stmt]) {
        let mut ends = Vec::new();
        for (i, arm) in arms.iter().enumerate() {
            self.expr(arm.condition);
            let skip = self.emit(Op::JumpIfNot(0));
            self.statements(&arm.body);
            let last = i + 1 == arms.len() && otherwise.is_empty();
            if !last {
                ends.push(self.emit(Op::Jump(0)));
            }
            self.land(skip);
        }
        self.statements(otherwise);
        for end in ends {
            self.land(end);
        }
    }

    /// Stores the topmost value.
    pub(super) fn assign(&mut self, position: Position, target: ExprId) {
        let ast = self.program.ast;
        match &ast.expr(ast.unparen(target)).kind {
            ExprKind::Ident(name) => self.store_name(*name),
            ExprKind::Tuple(list) | ExprKind::List(list) => {
                let count = u32::try_from(list.len()).unwrap_or(u32::MAX);
                self.emit_at(position, Op::Unpack(count));
                for element in list {
                    self.assign(position, *element);
                }
            }
            ExprKind::Index {
                object,
                bracket,
                index,
            } => {
                self.expr(*object);
                self.emit(Op::Exchange);
                self.expr(*index);
                self.emit(Op::Exchange);
                self.emit_at(*bracket, Op::SetIndex);
            }
            ExprKind::Dot { object, dot, name } => {
                self.expr(*object);
                self.emit(Op::Exchange);
                let name = self.program.name(name);
                self.emit_at(*dot, Op::SetField(name));
            }
            // The resolver rejects all others.
            _ => {
                self.emit(Op::Pop);
            }
        }
    }

    fn augment(&mut self, position: Position, operator: Token, target: ExprId, value: ExprId) {
        let ast = self.program.ast;
        let target = &ast.expr(ast.unparen(target)).kind;
        // The parts of the target are evaluated once.
        match target {
            ExprKind::Ident(name) => self.load_name(*name),
            ExprKind::Index {
                object,
                bracket,
                index,
            } => {
                self.expr(*object);
                self.expr(*index);
                self.emit(Op::Dup2);
                self.emit_at(*bracket, Op::Index);
            }
            ExprKind::Dot { object, dot, name } => {
                self.expr(*object);
                self.emit(Op::Dup);
                let name = self.program.name(name);
                self.emit_at(*dot, Op::Attribute(name));
            }
            _ => {}
        }
        self.expr(value);
        let op = match operator {
            Token::Plus => Op::AddInPlace,
            Token::Pipe => Op::MergeInPlace,
            _ => Operator::of(operator).map_or(Op::Pop, Op::Binary),
        };
        self.emit_at(position, op);
        match target {
            ExprKind::Ident(name) => self.store_name(*name),
            ExprKind::Index { bracket, .. } => {
                self.emit_at(*bracket, Op::SetIndex);
            }
            ExprKind::Dot { dot, name, .. } => {
                let name = self.program.name(name);
                self.emit_at(*dot, Op::SetField(name));
            }
            _ => {}
        }
    }
}
