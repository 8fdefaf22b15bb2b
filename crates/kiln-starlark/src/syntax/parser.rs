//! Parses statements.
//!
//! A hand-written parser with one token of look-ahead. Errors have go.starlark.net's position, which is after the
//! current token. Nesting deeper than [`MAX_NESTING`] is rejected, unlike in the original, whose stack grows.

use super::ast::{
    Ast, ExprId, ExprKind, FunctionBody, FunctionNode, IdentId, IfArm, Load, LoadName, Param, Stmt,
};
use super::position::Position;
use super::scanner::{Scanned, Scanner, TokenValue, refuse};
use super::token::Token;

/// How deep blocks and expressions may nest.
pub(crate) const MAX_NESTING: usize = 200;

/// The number of parameters of a function: as many as an instruction can count.
const MAX_PARAMS: usize = u16::MAX as usize;

pub(crate) struct Parser<'a> {
    scanner: Scanner<'a>,
    pub(super) token: Token,
    pub(super) value: TokenValue,
    pub(super) ast: Ast,
    nesting: usize,
    pub(super) complains_at_token: bool,
}

pub(crate) fn parse(source: &[u8], complains_at_token: bool) -> Scanned<Ast> {
    let mut parser = Parser {
        scanner: Scanner::new(source),
        token: Token::Eof,
        value: TokenValue::default(),
        ast: Ast::default(),
        nesting: 0,
        complains_at_token,
    };
    parser.advance()?;
    let mut statements = Vec::new();
    while parser.token != Token::Eof {
        if parser.token == Token::Newline {
            parser.advance()?;
        } else {
            parser.statement(&mut statements)?;
        }
    }
    parser.ast.statements = statements;
    Ok(parser.ast)
}

impl Parser<'_> {
    /// Reads the next token; returns the position of the current one.
    pub(super) fn advance(&mut self) -> Scanned<Position> {
        let old = self.value.position;
        self.token = self.scanner.next(&mut self.value)?;
        Ok(old)
    }

    pub(super) fn consume(&mut self, wanted: Token) -> Scanned<Position> {
        if self.token != wanted {
            let message = format!("got {}, want {}", self.token.quoted(), wanted.quoted());
            return self.fail(message);
        }
        self.advance()
    }

    /// Fails at the position of the scanner, which is after the current token.
    pub(super) fn fail<T>(&self, message: impl Into<String>) -> Scanned<T> {
        refuse(self.scanner.position, message)
    }

    /// Runs `parse` one level deeper.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Scanned<T>) -> Scanned<T> {
        if self.nesting >= MAX_NESTING {
            return self.fail(format!("nested too deeply (limit is {MAX_NESTING})"));
        }
        self.nesting += 1;
        let parsed = parse(self);
        self.nesting -= 1;
        parsed
    }

    fn statement(&mut self, out: &mut Vec<Stmt>) -> Scanned<()> {
        let statement = match self.token {
            Token::Def => self.definition()?,
            Token::If => self.conditional()?,
            Token::For => self.for_loop()?,
            Token::While => self.while_loop()?,
            _ => return self.simple_statements(out),
        };
        out.push(statement);
        Ok(())
    }

    fn definition(&mut self) -> Scanned<Stmt> {
        let position = self.advance()?;
        let name = self.identifier()?;
        self.consume(Token::LParen)?;
        let params = self.params()?;
        self.consume(Token::RParen)?;
        self.consume(Token::Colon)?;
        let body = FunctionBody::Statements(self.suite()?);
        let text = self.ast.ident(name).name.clone();
        let function = self.ast.add_function(FunctionNode {
            name: text,
            position,
            params,
            body,
        });
        Ok(Stmt::Def { name, function })
    }

    fn conditional(&mut self) -> Scanned<Stmt> {
        let mut arms = Vec::new();
        loop {
            let position = self.advance()?;
            let condition = self.test()?;
            self.consume(Token::Colon)?;
            let body = self.suite()?;
            arms.push(IfArm {
                position,
                condition,
                body,
            });
            if self.token != Token::Elif {
                break;
            }
        }
        let mut otherwise = Vec::new();
        if self.token == Token::Else {
            self.advance()?;
            self.consume(Token::Colon)?;
            otherwise = self.suite()?;
        }
        Ok(Stmt::If { arms, otherwise })
    }

    fn for_loop(&mut self) -> Scanned<Stmt> {
        let position = self.advance()?;
        let variables = self.loop_variables()?;
        self.consume(Token::In)?;
        let iterable = self.expression(false)?;
        self.consume(Token::Colon)?;
        let body = self.suite()?;
        Ok(Stmt::For {
            position,
            variables,
            iterable,
            body,
        })
    }

    fn while_loop(&mut self) -> Scanned<Stmt> {
        let position = self.advance()?;
        let condition = self.test()?;
        self.consume(Token::Colon)?;
        let body = self.suite()?;
        Ok(Stmt::While {
            position,
            condition,
            body,
        })
    }

    /// The variables of a loop. Parsed as an expression they would include the `in`.
    pub(super) fn loop_variables(&mut self) -> Scanned<ExprId> {
        let first = self.primary_with_suffix()?;
        if self.token != Token::Comma {
            return Ok(first);
        }
        let mut list = vec![first];
        while self.token == Token::Comma {
            self.advance()?;
            if ends_list(self.token) {
                break;
            }
            list.push(self.primary_with_suffix()?);
        }
        let start = self.ast.expr(first).start;
        Ok(self.ast.add_expr(start, ExprKind::Tuple(list)))
    }

    fn simple_statements(&mut self, out: &mut Vec<Stmt>) -> Scanned<()> {
        loop {
            let statement = self.small_statement()?;
            out.push(statement);
            if self.token != Token::Semi {
                break;
            }
            self.advance()?;
            if matches!(self.token, Token::Newline | Token::Eof) {
                break;
            }
        }
        if self.token != Token::Eof {
            self.consume(Token::Newline)?;
        }
        Ok(())
    }

    fn small_statement(&mut self) -> Scanned<Stmt> {
        match self.token {
            Token::Return => {
                let position = self.advance()?;
                let bare = matches!(self.token, Token::Eof | Token::Newline | Token::Semi);
                let value = if bare {
                    None
                } else {
                    Some(self.expression(false)?)
                };
                return Ok(Stmt::Return { position, value });
            }
            Token::Break => return Ok(Stmt::Break(self.advance()?)),
            Token::Continue => return Ok(Stmt::Continue(self.advance()?)),
            Token::Pass => {
                self.advance()?;
                return Ok(Stmt::Pass);
            }
            Token::Load => return self.load(),
            _ => {}
        }
        let target = self.expression(false)?;
        if self.token == Token::Eq {
            let position = self.advance()?;
            let value = self.expression(false)?;
            return Ok(Stmt::Assign {
                position,
                target,
                value,
            });
        }
        let Some(operator) = augmented(self.token) else {
            return Ok(Stmt::Expr(target));
        };
        let position = self.advance()?;
        let value = self.expression(false)?;
        Ok(Stmt::Augment {
            position,
            operator,
            target,
            value,
        })
    }

    fn load(&mut self) -> Scanned<Stmt> {
        let position = self.advance()?;
        let paren = self.consume(Token::LParen)?;
        if self.token != Token::String {
            return self.fail("first operand of load statement must be a string literal");
        }
        let module = std::mem::take(&mut self.value.bytes);
        self.advance()?;
        let mut names = Vec::new();
        while self.token != Token::RParen && self.token != Token::Eof {
            self.consume(Token::Comma)?;
            match self.token {
                Token::RParen => break,
                Token::String => {
                    let (from, from_position) = self.quoted_name()?;
                    let to = self.ast.add_ident(from.clone(), from_position);
                    names.push(LoadName {
                        from,
                        from_position,
                        to,
                    });
                }
                Token::Ident => names.push(self.renamed()?),
                token => {
                    let got = token.quoted();
                    let wanted = "load operand must be \"name\" or localname=\"name\"";
                    return self.fail(format!("{wanted} (got {got})"));
                }
            }
        }
        self.consume(Token::RParen)?;
        if names.is_empty() {
            return refuse(paren, "load statement must import at least 1 symbol");
        }
        Ok(Stmt::Load(Load {
            position,
            module,
            names,
        }))
    }

    /// `to = "from"` in a load statement.
    fn renamed(&mut self) -> Scanned<LoadName> {
        let to = self.identifier()?;
        let name = self.ast.ident(to).name.clone();
        if self.token != Token::Eq {
            let forms = format!("load operand must be \"{name}\" or {name}=\"originalname\"");
            return self.fail(format!("{forms} (want '=' after {name})"));
        }
        self.advance()?;
        if self.token != Token::String {
            let wanted = "original name of loaded symbol must be quoted";
            return self.fail(format!("{wanted}: {name}=\"originalname\""));
        }
        let (from, from_position) = self.quoted_name()?;
        Ok(LoadName {
            from,
            from_position,
            to,
        })
    }

    fn quoted_name(&mut self) -> Scanned<(String, Position)> {
        let name = String::from_utf8_lossy(&self.value.bytes).into_owned();
        let position = self.advance()?;
        Ok((name, position.right(1)))
    }

    fn suite(&mut self) -> Scanned<Vec<Stmt>> {
        self.nested(|parser| {
            let mut statements = Vec::new();
            if parser.token != Token::Newline {
                parser.simple_statements(&mut statements)?;
                return Ok(statements);
            }
            parser.advance()?;
            parser.consume(Token::Indent)?;
            while parser.token != Token::Outdent && parser.token != Token::Eof {
                parser.statement(&mut statements)?;
            }
            parser.consume(Token::Outdent)?;
            Ok(statements)
        })
    }

    pub(super) fn identifier(&mut self) -> Scanned<IdentId> {
        if self.token != Token::Ident {
            return self.fail("not an identifier");
        }
        let name = std::mem::take(&mut self.value.text);
        let position = self.advance()?;
        Ok(self.ast.add_ident(name, position))
    }

    pub(super) fn params(&mut self) -> Scanned<Vec<Param>> {
        let mut params = Vec::new();
        while !matches!(self.token, Token::RParen | Token::Colon | Token::Eof) {
            if !params.is_empty() {
                self.consume(Token::Comma)?;
            }
            if params.len() >= MAX_PARAMS {
                return self.fail(format!("too many parameters (limit is {MAX_PARAMS})"));
            }
            match self.token {
                Token::RParen => break,
                Token::Star => {
                    let position = self.advance()?;
                    let named = self.token == Token::Ident;
                    let name = if named {
                        Some(self.identifier()?)
                    } else {
                        None
                    };
                    params.push(Param::Star { position, name });
                }
                Token::StarStar => {
                    let position = self.advance()?;
                    let name = self.identifier()?;
                    params.push(Param::StarStar { position, name });
                }
                _ => {
                    let name = self.identifier()?;
                    if self.token == Token::Eq {
                        let equals = self.advance()?;
                        let default = self.test()?;
                        params.push(Param::Optional {
                            name,
                            equals,
                            default,
                        });
                    } else {
                        params.push(Param::Required(name));
                    }
                }
            }
        }
        Ok(params)
    }
}

pub(super) fn ends_list(token: Token) -> bool {
    matches!(
        token,
        Token::Eof
            | Token::Newline
            | Token::Eq
            | Token::RBrace
            | Token::RBrack
            | Token::RParen
            | Token::Semi
    )
}

/// The operator of an augmented assignment.
fn augmented(token: Token) -> Option<Token> {
    Some(match token {
        Token::PlusEq => Token::Plus,
        Token::MinusEq => Token::Minus,
        Token::StarEq => Token::Star,
        Token::SlashEq => Token::Slash,
        Token::SlashSlashEq => Token::SlashSlash,
        Token::PercentEq => Token::Percent,
        Token::AmpEq => Token::Amp,
        Token::PipeEq => Token::Pipe,
        Token::CircumflexEq => Token::Circumflex,
        Token::LtLtEq => Token::LtLt,
        Token::GtGtEq => Token::GtGt,
        _ => return None,
    })
}
