//! Scans tokens, including indentation.
//!
//! Positions are those of go.starlark.net: lines and code points from 1, a line end of any kind is one character. A
//! NUL ends the text, as in the original. Literals are decoded here.

use kiln_go::quote_char;
use num_bigint::BigInt;

use super::position::Position;
use super::token::Token;
use super::{literal, unquote};
use crate::text::decode_char;

#[derive(Clone, Debug, Default)]
pub(crate) struct TokenValue {
    /// Where the token begins.
    pub(crate) position: Position,
    /// Its text, for identifiers.
    pub(crate) text: String,
    /// Its decoded text, for strings and bytes.
    pub(crate) bytes: Vec<u8>,
    pub(crate) int: i64,
    pub(crate) big: Option<BigInt>,
    pub(crate) float: f64,
}

/// The position and reason of an error in scanning or parsing.
#[derive(Debug)]
pub(crate) struct ParseFailure {
    pub(crate) position: Position,
    pub(crate) message: String,
}

pub(crate) type Scanned<T> = Result<T, ParseFailure>;

pub(crate) fn refuse<T>(position: Position, message: impl Into<String>) -> Scanned<T> {
    Err(ParseFailure {
        position,
        message: message.into(),
    })
}

pub(crate) struct Scanner<'a> {
    source: &'a [u8],
    offset: usize,
    /// Where the next character is.
    pub(crate) position: Position,
    depth: usize,
    indents: Vec<u32>,
    /// Indents (positive) or outdents (negative) still to be returned.
    dents: i64,
    line_start: bool,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(source: &'a [u8]) -> Scanner<'a> {
        Scanner {
            source,
            offset: 0,
            position: Position::new(1, 1),
            depth: 0,
            indents: vec![0],
            dents: 0,
            line_start: true,
        }
    }

    /// The next token; its value is stored in `value`.
    pub(crate) fn next(&mut self, value: &mut TokenValue) -> Scanned<Token> {
        loop {
            let mut blank = false;
            let at_line_start = self.line_start;
            if self.line_start {
                self.line_start = false;
                let column = self.skip_indentation();
                blank = matches!(self.peek(), '#' | '\n' | '\0');
                if !blank && self.depth == 0 {
                    self.note_indentation(column)?;
                }
            }
            if self.dents != 0 {
                value.position = self.position;
                let outdent = self.dents < 0;
                self.dents -= self.dents.signum();
                return Ok(if outdent {
                    Token::Outdent
                } else {
                    Token::Indent
                });
            }
            let mut next = self.peek();
            while next == ' ' || next == '\t' {
                self.read();
                next = self.peek();
            }
            if next == '#' {
                while next != '\0' && next != '\n' {
                    self.read();
                    next = self.peek();
                }
            }
            match next {
                '\n' => {
                    self.line_start = true;
                    if self.depth > 0 || blank {
                        self.read();
                        continue;
                    }
                    value.position = self.position;
                    self.read();
                    return Ok(Token::Newline);
                }
                '\0' => {
                    if self.indents.len() > 1 {
                        if at_line_start {
                            self.dents = 1 - i64::try_from(self.indents.len()).unwrap_or(i64::MAX);
                            self.indents.truncate(1);
                            continue;
                        }
                        self.line_start = true;
                        value.position = self.position;
                        return Ok(Token::Newline);
                    }
                    value.position = self.position;
                    return Ok(Token::Eof);
                }
                '\\' => {
                    self.read();
                    if self.peek() != '\n' {
                        return refuse(self.position, "stray backslash in program");
                    }
                    self.read();
                }
                _ => {
                    value.position = self.position;
                    return self.token(next, value);
                }
            }
        }
    }

    fn skip_indentation(&mut self) -> u32 {
        let mut column = 0;
        loop {
            match self.peek() {
                ' ' => column += 1,
                '\t' => column += 8 - (self.position.column - 1) % 8,
                _ => return column,
            }
            self.read();
        }
    }

    fn note_indentation(&mut self, column: u32) -> Scanned<()> {
        let current = self.indents.last().copied().unwrap_or(0);
        if column > current {
            self.dents += 1;
            self.indents.push(column);
        } else if column < current {
            while self.indents.last().is_some_and(|indent| column < *indent) {
                self.dents -= 1;
                self.indents.pop();
            }
            if self.indents.last() != Some(&column) {
                let message = "unindent does not match any outer indentation level";
                return refuse(self.position, message);
            }
        }
        Ok(())
    }

    fn token(&mut self, first: char, value: &mut TokenValue) -> Scanned<Token> {
        match first {
            '"' | '\'' => self.string(self.offset, value),
            ',' => self.single(Token::Comma),
            _ if is_ident_start(first) => self.word(value),
            '[' => self.open(Token::LBrack),
            '(' => self.open(Token::LParen),
            '{' => self.open(Token::LBrace),
            ']' => self.close(first, Token::RBrack),
            ')' => self.close(first, Token::RParen),
            '}' => self.close(first, Token::RBrace),
            '0'..='9' | '.' => self.number(value),
            ':' => self.single(Token::Colon),
            ';' => self.single(Token::Semi),
            '~' => self.single(Token::Tilde),
            _ => self.operator(first),
        }
    }

    fn single(&mut self, token: Token) -> Scanned<Token> {
        self.read();
        Ok(token)
    }

    fn open(&mut self, token: Token) -> Scanned<Token> {
        self.depth += 1;
        self.single(token)
    }

    fn close(&mut self, first: char, token: Token) -> Scanned<Token> {
        if self.depth == 0 {
            return refuse(self.position, format!("unexpected {}", quote_char(first)));
        }
        self.depth -= 1;
        self.single(token)
    }

    fn word(&mut self, value: &mut TokenValue) -> Scanned<Token> {
        let start = self.offset;
        let prefix = match self.source.get(start..).unwrap_or_default() {
            [b'r' | b'b', b'"' | b'\'', ..] => 1,
            [b'r', b'b', b'"' | b'\'', ..] => 2,
            _ => 0,
        };
        if prefix > 0 {
            for _ in 0..prefix {
                self.read();
            }
            return self.string(start, value);
        }
        while is_ident(self.peek()) {
            self.read();
        }
        let text = self.source.get(start..self.offset).unwrap_or_default();
        if let Some(keyword) = Token::keyword(text) {
            return Ok(keyword);
        }
        value.text = String::from_utf8_lossy(text).into_owned();
        Ok(Token::Ident)
    }

    fn operator(&mut self, first: char) -> Scanned<Token> {
        let start = self.position;
        let plain = match first {
            '=' => (Token::Eq, Token::EqEq),
            '<' => (Token::Lt, Token::Le),
            '>' => (Token::Gt, Token::Ge),
            '!' => (Token::Eof, Token::NotEq),
            '+' => (Token::Plus, Token::PlusEq),
            '-' => (Token::Minus, Token::MinusEq),
            '%' => (Token::Percent, Token::PercentEq),
            '/' => (Token::Slash, Token::SlashEq),
            '&' => (Token::Amp, Token::AmpEq),
            '|' => (Token::Pipe, Token::PipeEq),
            '^' => (Token::Circumflex, Token::CircumflexEq),
            '*' => (Token::Star, Token::StarEq),
            _ => {
                let shown = quote_char(first);
                return refuse(start, format!("unexpected input character {shown}"));
            }
        };
        self.read();
        if self.take('=') {
            return Ok(plain.1);
        }
        let doubled = match first {
            '<' => Some((Token::LtLt, Token::LtLtEq)),
            '>' => Some((Token::GtGt, Token::GtGtEq)),
            '/' => Some((Token::SlashSlash, Token::SlashSlashEq)),
            _ => None,
        };
        if let Some((token, assigning)) = doubled
            && self.take(first)
        {
            return Ok(if self.take('=') { assigning } else { token });
        }
        match first {
            '*' if self.take('*') => Ok(Token::StarStar),
            '!' => refuse(start, "unexpected input character '!'"),
            _ => Ok(plain.0),
        }
    }

    /// Scans the literal whose quote is next; its prefix, from `start`, has been read.
    fn string(&mut self, start: usize, value: &mut TokenValue) -> Scanned<Token> {
        let begin = self.position;
        let mut raw = self
            .source
            .get(start..self.offset)
            .unwrap_or_default()
            .to_vec();
        let quote = self.peek();
        let mark = quote as u8;
        let triple = self.source.get(self.offset..self.offset + 3) == Some(&[mark; 3]);
        for _ in 0..if triple { 3 } else { 1 } {
            self.read_into(&mut raw);
        }
        let mut quotes = 0;
        loop {
            let read = self.read_in_string(&mut raw, value.position)?;
            if read == quote {
                quotes += 1;
                if !triple || quotes == 3 {
                    break;
                }
            } else {
                quotes = 0;
            }
            if read == '\n' && !triple {
                return refuse(value.position, "unexpected newline in string");
            }
            if read == '\\' {
                self.read_in_string(&mut raw, value.position)?;
            }
        }
        match unquote::unquote(&raw) {
            Ok(literal) => {
                value.bytes = literal.bytes;
                Ok(if literal.is_bytes {
                    Token::Bytes
                } else {
                    Token::String
                })
            }
            Err(message) => refuse(begin, message),
        }
    }

    fn read_in_string(&mut self, raw: &mut Vec<u8>, start: Position) -> Scanned<char> {
        if self.offset >= self.source.len() {
            return refuse(start, "unexpected EOF in string");
        }
        Ok(self.read_into(raw))
    }

    fn read_into(&mut self, raw: &mut Vec<u8>) -> char {
        let read = self.read();
        raw.extend_from_slice(read.encode_utf8(&mut [0; 4]).as_bytes());
        read
    }

    fn number(&mut self, value: &mut TokenValue) -> Scanned<Token> {
        let begin = self.position;
        let start = self.offset;
        let mut fraction = false;
        let mut exponent = false;
        match self.peek() {
            '.' => {
                self.read();
                if !self.peek().is_ascii_digit() {
                    return Ok(Token::Dot);
                }
                fraction = true;
                self.digits(10);
            }
            '0' => {
                self.read();
                match self.peek() {
                    'x' | 'X' => self.radix(16, Err((begin, "invalid hex literal")))?,
                    'o' | 'O' => self.radix(8, Ok("invalid octal literal"))?,
                    'b' | 'B' => self.radix(2, Ok("invalid binary literal"))?,
                    _ => {
                        let digits = self.offset;
                        self.digits(10);
                        let digits = self.source.get(digits..self.offset).unwrap_or_default();
                        let octal = digits.iter().all(|digit| *digit <= b'7');
                        let zeros = digits.iter().all(|digit| *digit == b'0');
                        let whole = !matches!(self.peek(), '.' | 'e' | 'E');
                        if whole && octal && !zeros {
                            let digits = String::from_utf8_lossy(digits);
                            let message = format!("obsolete form of octal literal; use 0o{digits}");
                            return refuse(self.position, message);
                        }
                    }
                }
            }
            _ => self.digits(10),
        }
        let prefixed = self
            .source
            .get(start + 1)
            .is_some_and(u8::is_ascii_alphabetic)
            && self.source.get(start) == Some(&b'0')
            && !matches!(self.source.get(start + 1), Some(b'e' | b'E'));
        if !prefixed {
            if !fraction && self.peek() == '.' {
                fraction = true;
                self.read();
                self.digits(10);
            }
            if matches!(self.peek(), 'e' | 'E') {
                exponent = true;
                self.read();
                if matches!(self.peek(), '+' | '-') {
                    self.read();
                    if !self.peek().is_ascii_digit() {
                        return refuse(self.position, "invalid float literal");
                    }
                }
                self.digits(10);
            }
        }
        let text = self.source.get(start..self.offset).unwrap_or_default();
        let text = String::from_utf8_lossy(text);
        if fraction || exponent {
            let Some(float) = literal::float(&text) else {
                return refuse(self.position, "invalid float literal");
            };
            value.float = float;
            return Ok(Token::Float);
        }
        let Some((int, big)) = literal::int(&text) else {
            return refuse(begin, "invalid int literal");
        };
        value.int = int;
        value.big = big;
        Ok(Token::Int)
    }

    /// Reads the letter of a prefix and the digits after it. `blame` is the error if there are none: the message, and
    /// whether it is at a fixed position or where the digits should be.
    fn radix(
        &mut self,
        radix: u32,
        blame: Result<&'static str, (Position, &'static str)>,
    ) -> Scanned<()> {
        self.read();
        if !self.peek().is_digit(radix) {
            return match blame {
                Ok(message) => refuse(self.position, message),
                Err((position, message)) => refuse(position, message),
            };
        }
        self.digits(radix);
        Ok(())
    }

    fn digits(&mut self, radix: u32) {
        while self.peek().is_digit(radix) {
            self.read();
        }
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == wanted;
        if found {
            self.read();
        }
        found
    }

    /// The next character, a NUL at the end.
    fn peek(&self) -> char {
        match self.source.get(self.offset) {
            None => '\0',
            Some(b'\r') => '\n',
            Some(byte) if byte.is_ascii() => char::from(*byte),
            Some(_) => decode_char(self.source.get(self.offset..).unwrap_or_default()).0,
        }
    }

    fn read(&mut self) -> char {
        let next = self.peek();
        let rest = self.source.get(self.offset..).unwrap_or_default();
        self.offset += match rest {
            [] => 0,
            [b'\r', b'\n', ..] => 2,
            [byte, ..] if byte.is_ascii() => 1,
            _ => decode_char(rest).1,
        };
        if next == '\n' {
            self.position = Position::new(self.position.line + 1, 1);
        } else {
            self.position.column += 1;
        }
        next
    }
}

fn is_ident_start(char: char) -> bool {
    char.is_ascii_alphabetic() || char == '_' || (!char.is_ascii() && char.is_alphabetic())
}

fn is_ident(char: char) -> bool {
    char.is_ascii_digit() || is_ident_start(char)
}
