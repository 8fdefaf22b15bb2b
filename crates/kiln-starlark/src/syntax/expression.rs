//! Parses expressions.

use super::ast::{
    Argument, Body, Clause, Comprehension, DictEntry, ExprId, ExprKind, FunctionBody, FunctionNode,
    Slice,
};
use super::parser::{Parser, ends_list};
use super::position::Position;
use super::scanner::{Scanned, refuse};
use super::token::Token;

/// The lowest precedence of ten.
const LOWEST: u8 = 0;
const NOT_LEVEL: u8 = 2;
const COMPARISON_LEVEL: u8 = 3;

impl Parser<'_> {
    /// An expression, or a tuple without parentheses.
    pub(super) fn expression(&mut self, trailing_comma: bool) -> Scanned<ExprId> {
        let first = self.test()?;
        if self.token != Token::Comma {
            return Ok(first);
        }
        let list = self.rest_of_list(first, trailing_comma)?;
        let start = self.ast.expr(first).start;
        Ok(self.ast.add_expr(start, ExprKind::Tuple(list)))
    }

    fn rest_of_list(&mut self, first: ExprId, trailing_comma: bool) -> Scanned<Vec<ExprId>> {
        let mut list = vec![first];
        while self.token == Token::Comma {
            let comma = self.advance()?;
            if ends_list(self.token) {
                if !trailing_comma {
                    return refuse(comma, "unparenthesized tuple with trailing comma");
                }
                break;
            }
            list.push(self.test()?);
        }
        Ok(list)
    }

    /// One expression, with `if … else` and lambdas.
    pub(super) fn test(&mut self) -> Scanned<ExprId> {
        self.nested(|parser| {
            if parser.token == Token::Lambda {
                return parser.lambda(true);
            }
            let yes = parser.operators(LOWEST)?;
            if parser.token != Token::If {
                return Ok(yes);
            }
            let position = parser.advance()?;
            let condition = parser.operators(LOWEST)?;
            if parser.token != Token::Else {
                return refuse(position, "conditional expression without else clause");
            }
            parser.advance()?;
            let no = parser.test()?;
            let start = parser.ast.expr(yes).start;
            Ok(parser
                .ast
                .add_expr(start, ExprKind::Cond { condition, yes, no }))
        })
    }

    fn test_without_condition(&mut self) -> Scanned<ExprId> {
        if self.token == Token::Lambda {
            return self.nested(|parser| parser.lambda(false));
        }
        self.operators(LOWEST)
    }

    fn lambda(&mut self, with_condition: bool) -> Scanned<ExprId> {
        let position = self.advance()?;
        let params = if self.token == Token::Colon {
            Vec::new()
        } else {
            self.params()?
        };
        self.consume(Token::Colon)?;
        let body = if with_condition {
            self.test()?
        } else {
            self.test_without_condition()?
        };
        let body = FunctionBody::Expression(body);
        let name = "lambda".to_owned();
        let function = self.ast.add_function(FunctionNode {
            name,
            position,
            params,
            body,
        });
        Ok(self.ast.add_expr(position, ExprKind::Lambda(function)))
    }

    /// Operands joined by operators with at least the precedence `level`.
    fn operators(&mut self, level: u8) -> Scanned<ExprId> {
        let mut left = if self.token == Token::Not && level <= NOT_LEVEL {
            self.nested(|parser| {
                let position = parser.advance()?;
                let operand = parser.operators(NOT_LEVEL)?;
                let kind = ExprKind::Unary {
                    operator: Token::Not,
                    operand,
                };
                Ok(parser.ast.add_expr(position, kind))
            })?
        } else {
            self.primary_with_suffix()?
        };
        let mut comparison = None;
        loop {
            if self.token == Token::Not {
                self.advance()?;
                if self.token != Token::In {
                    return self.fail(format!("got {}, want in", self.token.quoted()));
                }
                self.token = Token::NotIn;
            }
            let operator = self.token;
            let Some(strength) = strength(operator).filter(|strength| *strength >= level) else {
                return Ok(left);
            };
            if strength == COMPARISON_LEVEL
                && let Some(before) = comparison.replace(operator)
            {
                let (before, after) = (before.name(), operator.name());
                return self.fail(format!(
                    "{before} does not associate with {after} (use parens)"
                ));
            }
            let position = self.advance()?;
            let right = self.nested(|parser| parser.operators(strength + 1))?;
            let start = self.ast.expr(left).start;
            let kind = ExprKind::Binary {
                operator,
                position,
                left,
                right,
            };
            left = self.ast.add_expr(start, kind);
        }
    }

    pub(super) fn primary_with_suffix(&mut self) -> Scanned<ExprId> {
        let mut object = self.primary()?;
        loop {
            let start = self.ast.expr(object).start;
            let kind = match self.token {
                Token::Dot => {
                    let dot = self.advance()?;
                    let name = self.identifier()?;
                    let name = self.ast.ident(name).name.clone();
                    ExprKind::Dot { object, dot, name }
                }
                Token::LBrack => self.bracket_suffix(object)?,
                Token::LParen => {
                    let paren = self.advance()?;
                    let arguments = self.arguments()?;
                    self.consume(Token::RParen)?;
                    ExprKind::Call {
                        callee: object,
                        paren,
                        arguments,
                    }
                }
                _ => return Ok(object),
            };
            object = self.ast.add_expr(start, kind);
        }
    }

    /// `[index]` or `[low:high:step]`.
    fn bracket_suffix(&mut self, object: ExprId) -> Scanned<ExprKind> {
        let bracket = self.advance()?;
        let mut slice = Slice {
            object,
            bracket,
            low: None,
            high: None,
            step: None,
        };
        if self.token != Token::Colon {
            let index = self.expression(false)?;
            if self.token == Token::RBrack {
                self.advance()?;
                return Ok(ExprKind::Index {
                    object,
                    bracket,
                    index,
                });
            }
            slice.low = Some(index);
        }
        if self.token == Token::Colon {
            self.advance()?;
            if self.token != Token::Colon && self.token != Token::RBrack {
                slice.high = Some(self.test()?);
            }
        }
        if self.token == Token::Colon {
            self.advance()?;
            if self.token != Token::RBrack {
                slice.step = Some(self.test()?);
            }
        }
        self.consume(Token::RBrack)?;
        Ok(ExprKind::Slice(Box::new(slice)))
    }

    fn arguments(&mut self) -> Scanned<Vec<Argument>> {
        let mut arguments = Vec::new();
        while self.token != Token::RParen && self.token != Token::Eof {
            if !arguments.is_empty() {
                self.consume(Token::Comma)?;
            }
            match self.token {
                Token::RParen => break,
                Token::Star => {
                    let position = self.advance()?;
                    let value = self.test()?;
                    arguments.push(Argument::Star { position, value });
                }
                Token::StarStar => {
                    let position = self.advance()?;
                    let value = self.test()?;
                    arguments.push(Argument::StarStar { position, value });
                }
                _ => {
                    let value = self.test()?;
                    if self.token == Token::Eq {
                        arguments.push(self.named_argument(value)?);
                    } else {
                        arguments.push(Argument::Positional(value));
                    }
                }
            }
        }
        Ok(arguments)
    }

    /// `name = value`; the name was parsed as an expression.
    fn named_argument(&mut self, name: ExprId) -> Scanned<Argument> {
        let ExprKind::Ident(name) = self.ast.expr(name).kind else {
            return self.fail("keyword argument must have form name=expr");
        };
        self.advance()?;
        let value = self.test()?;
        let ident = self.ast.ident(name);
        Ok(Argument::Named {
            name: ident.name.clone(),
            position: ident.position,
            value,
        })
    }

    fn primary(&mut self) -> Scanned<ExprId> {
        let kind = match self.token {
            Token::Ident => {
                let name = self.identifier()?;
                let start = self.ast.ident(name).position;
                return Ok(self.ast.add_expr(start, ExprKind::Ident(name)));
            }
            Token::Int => match self.value.big.take() {
                Some(big) => ExprKind::Big(big),
                None => ExprKind::Int(self.value.int),
            },
            Token::Float => ExprKind::Float(self.value.float),
            Token::String => ExprKind::String(std::mem::take(&mut self.value.bytes)),
            Token::Bytes => ExprKind::Bytes(std::mem::take(&mut self.value.bytes)),
            Token::LBrack => return self.list(),
            Token::LBrace => return self.dict(),
            Token::LParen => return self.parenthesis(),
            Token::Minus | Token::Plus | Token::Tilde => {
                return self.nested(|parser| {
                    let operator = parser.token;
                    let position = parser.advance()?;
                    let operand = parser.primary_with_suffix()?;
                    let kind = ExprKind::Unary { operator, operand };
                    Ok(parser.ast.add_expr(position, kind))
                });
            }
            token => {
                let message = format!("got {}, want primary expression", token.quoted());
                return match self.complains_at_token {
                    true => refuse(self.value.position, message),
                    false => self.fail(message),
                };
            }
        };
        let position = self.advance()?;
        Ok(self.ast.add_expr(position, kind))
    }

    fn parenthesis(&mut self) -> Scanned<ExprId> {
        let paren = self.advance()?;
        if self.token == Token::RParen {
            self.advance()?;
            return Ok(self.ast.add_expr(paren, ExprKind::Tuple(Vec::new())));
        }
        let inner = self.expression(true)?;
        self.consume(Token::RParen)?;
        Ok(self.ast.add_expr(paren, ExprKind::Paren(inner)))
    }

    fn list(&mut self) -> Scanned<ExprId> {
        let bracket = self.advance()?;
        if self.token == Token::RBrack {
            self.advance()?;
            return Ok(self.ast.add_expr(bracket, ExprKind::List(Vec::new())));
        }
        let first = self.test()?;
        if self.token == Token::For {
            return self.comprehension(bracket, Body::List(first), Token::RBrack);
        }
        let list = self.rest_of_list(first, true)?;
        self.consume(Token::RBrack)?;
        Ok(self.ast.add_expr(bracket, ExprKind::List(list)))
    }

    fn dict(&mut self) -> Scanned<ExprId> {
        let brace = self.advance()?;
        if self.token == Token::RBrace {
            self.advance()?;
            return Ok(self.ast.add_expr(brace, ExprKind::Dict(Vec::new())));
        }
        let first = self.entry()?;
        if self.token == Token::For {
            return self.comprehension(brace, Body::Dict(first), Token::RBrace);
        }
        let mut entries = vec![first];
        while self.token == Token::Comma {
            self.advance()?;
            if self.token == Token::RBrace {
                break;
            }
            entries.push(self.entry()?);
        }
        self.consume(Token::RBrace)?;
        Ok(self.ast.add_expr(brace, ExprKind::Dict(entries)))
    }

    fn entry(&mut self) -> Scanned<DictEntry> {
        let key = self.test()?;
        let colon = self.consume(Token::Colon)?;
        let value = self.test()?;
        Ok(DictEntry { key, colon, value })
    }

    fn comprehension(&mut self, start: Position, body: Body, end: Token) -> Scanned<ExprId> {
        let clauses = self.nested(|parser| parser.clauses(end))?;
        let comprehension = Comprehension { body, clauses };
        Ok(self
            .ast
            .add_expr(start, ExprKind::Comprehension(Box::new(comprehension))))
    }

    /// The clauses of a comprehension, up to its closing bracket.
    fn clauses(&mut self, end: Token) -> Scanned<Vec<Clause>> {
        let mut clauses = Vec::new();
        while self.token != end {
            match self.token {
                Token::For => {
                    let position = self.advance()?;
                    let variables = self.loop_variables()?;
                    self.consume(Token::In)?;
                    let iterable = self.operators(LOWEST)?;
                    clauses.push(Clause::For {
                        position,
                        variables,
                        iterable,
                    });
                }
                Token::If => {
                    self.advance()?;
                    clauses.push(Clause::If(self.test_without_condition()?));
                }
                token => {
                    let (got, end) = (token.quoted(), end.name());
                    return self.fail(format!("got {got}, want '{end}', for, or if"));
                }
            }
        }
        self.advance()?;
        Ok(clauses)
    }
}

/// The precedence of a binary operator.
fn strength(operator: Token) -> Option<u8> {
    Some(match operator {
        Token::Or => LOWEST,
        Token::And => 1,
        Token::EqEq
        | Token::NotEq
        | Token::Lt
        | Token::Gt
        | Token::Le
        | Token::Ge
        | Token::In
        | Token::NotIn => COMPARISON_LEVEL,
        Token::Pipe => 4,
        Token::Circumflex => 5,
        Token::Amp => 6,
        Token::LtLt | Token::GtGt => 7,
        Token::Minus | Token::Plus => 8,
        Token::Star | Token::Percent | Token::Slash | Token::SlashSlash => 9,
        _ => return None,
    })
}
