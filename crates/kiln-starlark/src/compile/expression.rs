//! Expressions.

use super::{CallShape, Compiler, Constant, Op};
use crate::syntax::ast::{
    Argument, Body, Clause, Comprehension, DictEntry, ExprId, ExprKind, FunctionId, Param,
};
use crate::syntax::{Operator, Token};
use crate::value::Comparison;

impl Compiler<'_, '_> {
    pub(super) fn expr(&mut self, expr: ExprId) {
        let ast = self.program.ast;
        if let Some(bytes) = self.sum_of_bytes(expr) {
            self.constant(Constant::Bytes(bytes));
            return;
        }
        let (base, mut chain) = ast.left_chain(expr);
        self.base_expr(base);
        while let Some(link) = chain.pop() {
            match &ast.expr(link).kind {
                ExprKind::Binary {
                    operator,
                    position,
                    right,
                    ..
                } => {
                    self.binary(*operator, *right, *position);
                }
                ExprKind::Index { bracket, index, .. } => {
                    let op = match &ast.expr(*index).kind {
                        ExprKind::String(key) => {
                            let key = Constant::String(key.clone());
                            Op::IndexConstant(self.program.constant(key))
                        }
                        _ => {
                            self.expr(*index);
                            Op::Index
                        }
                    };
                    self.emit_at(*bracket, op);
                }
                ExprKind::Dot { dot, name, .. } => {
                    let name = self.program.name(name);
                    // A call that follows at once does not need the method as a value.
                    match chain.last().map(|next| &ast.expr(*next).kind) {
                        Some(ExprKind::Call {
                            paren, arguments, ..
                        }) => {
                            chain.pop();
                            self.emit_at(*dot, Op::Method(name));
                            let shape = self.arguments(arguments);
                            self.emit_at(*paren, Op::CallMethod(shape));
                        }
                        _ => {
                            self.emit_at(*dot, Op::Attribute(name));
                        }
                    }
                }
                ExprKind::Slice(slice) => {
                    self.position = slice.bracket;
                    for part in [slice.low, slice.high, slice.step] {
                        match part {
                            Some(part) => self.expr(part),
                            None => {
                                self.emit(Op::None);
                            }
                        }
                    }
                    self.emit(Op::Slice);
                }
                ExprKind::Call {
                    paren, arguments, ..
                } => {
                    let shape = self.arguments(arguments);
                    self.emit_at(*paren, Op::Call(shape));
                }
                _ => {}
            }
        }
    }

    /// The sum of bytes literals. Bytes cannot be added, but the original adds literals before it checks that.
    fn sum_of_bytes(&self, expr: ExprId) -> Option<Vec<u8>> {
        let ast = self.program.ast;
        let mut parts: Vec<&[u8]> = Vec::new();
        let mut left = expr;
        while let ExprKind::Binary {
            operator: Token::Plus,
            left: next,
            right,
            ..
        } = &ast.expr(ast.unparen(left)).kind
        {
            let ExprKind::Bytes(part) = &ast.expr(ast.unparen(*right)).kind else {
                return None;
            };
            parts.push(part);
            left = *next;
        }
        let ExprKind::Bytes(first) = &ast.expr(ast.unparen(left)).kind else {
            return None;
        };
        parts.push(first);
        parts.reverse();
        Some(parts.concat())
    }

    fn base_expr(&mut self, expr: ExprId) {
        let ast = self.program.ast;
        match &ast.expr(expr).kind {
            ExprKind::Ident(name) => self.load_name(*name),
            ExprKind::Int(int) => self.constant(Constant::Int(*int)),
            ExprKind::Big(big) => self.constant(Constant::Big(big.clone())),
            ExprKind::Float(float) => self.constant(Constant::Float(*float)),
            ExprKind::String(text) => self.constant(Constant::String(text.clone())),
            ExprKind::Bytes(bytes) => self.constant(Constant::Bytes(bytes.clone())),
            ExprKind::List(list) => {
                self.all(list);
                self.emit(Op::MakeList(count(list.len())));
            }
            ExprKind::Tuple(list) => {
                self.all(list);
                self.emit(Op::MakeTuple(count(list.len())));
            }
            ExprKind::Dict(entries) => {
                self.emit(Op::MakeDict);
                for entry in entries {
                    self.entry(*entry, Op::AddEntry);
                }
            }
            ExprKind::Comprehension(comprehension) => {
                self.emit(match comprehension.body {
                    Body::List(_) => Op::MakeList(0),
                    Body::Dict(_) => Op::MakeDict,
                });
                self.comprehension(comprehension);
            }
            ExprKind::Cond { condition, yes, no } => {
                self.expr(*condition);
                let otherwise = self.emit(Op::JumpIfNot(0));
                self.expr(*yes);
                let end = self.emit(Op::Jump(0));
                self.land(otherwise);
                self.expr(*no);
                self.land(end);
            }
            ExprKind::Lambda(function) => self.function(*function),
            ExprKind::Unary { operator, operand } => {
                self.expr(*operand);
                let op = match operator {
                    Token::Minus => Op::Minus,
                    Token::Plus => Op::Plus,
                    Token::Tilde => Op::Invert,
                    _ => Op::Not,
                };
                self.emit_at(ast.expr(expr).start, op);
            }
            _ => {}
        }
    }

    fn constant(&mut self, constant: Constant) {
        let constant = self.program.constant(constant);
        self.emit(Op::Constant(constant));
    }

    fn all(&mut self, list: &[ExprId]) {
        for element in list {
            self.expr(*element);
        }
    }

    fn entry(&mut self, entry: DictEntry, op: Op) {
        self.expr(entry.key);
        self.expr(entry.value);
        self.emit_at(entry.colon, op);
    }

    /// The right operand and the operator; the left operand is on the stack.
    fn binary(&mut self, operator: Token, right: ExprId, position: crate::syntax::Position) {
        let short = match operator {
            Token::Or => Some(Op::JumpIfOrPop(0)),
            Token::And => Some(Op::JumpIfNotOrPop(0)),
            _ => None,
        };
        if let Some(jump) = short {
            let jump = self.emit(jump);
            self.expr(right);
            self.land(jump);
            return;
        }
        self.expr(right);
        let op = match operator {
            Token::EqEq => Op::Compare(Comparison::Equal),
            Token::NotEq => Op::Compare(Comparison::NotEqual),
            Token::Lt => Op::Compare(Comparison::Less),
            Token::Le => Op::Compare(Comparison::LessOrEqual),
            Token::Gt => Op::Compare(Comparison::Greater),
            Token::Ge => Op::Compare(Comparison::GreaterOrEqual),
            Token::NotIn => Op::Binary(Operator::In),
            _ => Operator::of(operator).map_or(Op::Pop, Op::Binary),
        };
        self.emit_at(position, op);
        if operator == Token::NotIn {
            self.emit(Op::Not);
        }
    }

    fn arguments(&mut self, arguments: &[Argument]) -> CallShape {
        let mut shape = CallShape {
            positional: 0,
            named: 0,
            list: false,
            dict: false,
        };
        let mut list = None;
        let mut dict = None;
        // The resolver has checked that neither count exceeds 255.
        for argument in arguments {
            match argument {
                Argument::Positional(value) => {
                    self.expr(*value);
                    shape.positional = shape.positional.saturating_add(1);
                }
                Argument::Named { name, value, .. } => {
                    self.string(name.as_bytes());
                    self.expr(*value);
                    shape.named = shape.named.saturating_add(1);
                }
                Argument::Star { value, .. } => list = Some(*value),
                Argument::StarStar { value, .. } => dict = Some(*value),
            }
        }
        shape.list = list.is_some();
        shape.dict = dict.is_some();
        for value in [list, dict].into_iter().flatten() {
            self.expr(value);
        }
        shape
    }

    fn comprehension(&mut self, comprehension: &Comprehension) {
        /// What follows the body of a clause.
        enum End {
            Loop { head: u32, next: usize },
            Skip(usize),
        }
        let mut ends = Vec::new();
        for clause in &comprehension.clauses {
            match clause {
                Clause::For {
                    position,
                    variables,
                    iterable,
                } => {
                    let (head, next) = self.begin_loop(*position, *variables, *iterable);
                    ends.push(End::Loop { head, next });
                }
                Clause::If(condition) => {
                    self.expr(*condition);
                    ends.push(End::Skip(self.emit(Op::JumpIfNot(0))));
                }
            }
        }
        match comprehension.body {
            Body::List(element) => {
                self.expr(element);
                self.emit(Op::Append);
            }
            Body::Dict(entry) => self.entry(entry, Op::SetEntry),
        }
        for end in ends.into_iter().rev() {
            match end {
                End::Loop { head, next } => {
                    self.emit(Op::Jump(head));
                    self.land(next);
                    self.emit(Op::IterPop);
                }
                End::Skip(skip) => self.land(skip),
            }
        }
    }

    /// Makes a function value: its defaults, then the function.
    pub(super) fn function(&mut self, id: FunctionId) {
        let ast = self.program.ast;
        let function = ast.function(id);
        self.position = function.position;
        let mut defaults = 0;
        let mut behind_star = false;
        for param in &function.params {
            match param {
                Param::Optional { default, .. } => {
                    self.expr(*default);
                    defaults += 1;
                }
                Param::Star { .. } | Param::StarStar { .. } => behind_star = true,
                Param::Required(_) if behind_star => {
                    self.emit(Op::Mandatory);
                    defaults += 1;
                }
                Param::Required(_) => {}
            }
        }
        self.program.function(id);
        self.emit(Op::MakeFunction {
            function: id.0,
            defaults,
        });
    }
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
