//! The tokens of the language and how they are named in messages.
//!
//! The names are those that go.starlark.net prints: punctuation is quoted, everything else is not.

/// What kind of token the scanner found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Eof,
    Newline,
    Indent,
    Outdent,
    Ident,
    Int,
    Float,
    String,
    Bytes,
    Plus,
    Minus,
    Star,
    Slash,
    SlashSlash,
    Percent,
    Amp,
    Pipe,
    Circumflex,
    LtLt,
    GtGt,
    Tilde,
    Dot,
    Comma,
    Eq,
    Semi,
    Colon,
    LParen,
    RParen,
    LBrack,
    RBrack,
    LBrace,
    RBrace,
    Lt,
    Gt,
    Ge,
    Le,
    EqEq,
    NotEq,
    PlusEq,
    MinusEq,
    StarEq,
    SlashEq,
    SlashSlashEq,
    PercentEq,
    AmpEq,
    PipeEq,
    CircumflexEq,
    LtLtEq,
    GtGtEq,
    StarStar,
    And,
    Break,
    Continue,
    Def,
    Elif,
    Else,
    For,
    If,
    In,
    Lambda,
    Load,
    Not,
    NotIn,
    Or,
    Pass,
    Return,
    While,
    /// A word that Python uses and this language keeps free.
    Reserved(&'static str),
}

impl Token {
    /// The keyword or reserved word that `text` is, if it is one.
    pub(crate) fn keyword(text: &[u8]) -> Option<Token> {
        Some(match text {
            b"and" => Token::And,
            b"break" => Token::Break,
            b"continue" => Token::Continue,
            b"def" => Token::Def,
            b"elif" => Token::Elif,
            b"else" => Token::Else,
            b"for" => Token::For,
            b"if" => Token::If,
            b"in" => Token::In,
            b"lambda" => Token::Lambda,
            b"load" => Token::Load,
            b"not" => Token::Not,
            b"or" => Token::Or,
            b"pass" => Token::Pass,
            b"return" => Token::Return,
            b"while" => Token::While,
            _ => {
                let word = RESERVED.iter().find(|word| word.as_bytes() == text)?;
                Token::Reserved(word)
            }
        })
    }

    /// The bare name: `+`, `newline`, `int literal`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Token::Eof => "end of file",
            Token::Newline => "newline",
            Token::Indent => "indent",
            Token::Outdent => "outdent",
            Token::Ident => "identifier",
            Token::Int => "int literal",
            Token::Float => "float literal",
            Token::String => "string literal",
            // The original has no name for it.
            Token::Bytes => "",
            Token::And => "and",
            Token::Break => "break",
            Token::Continue => "continue",
            Token::Def => "def",
            Token::Elif => "elif",
            Token::Else => "else",
            Token::For => "for",
            Token::If => "if",
            Token::In => "in",
            Token::Lambda => "lambda",
            Token::Load => "load",
            Token::Not => "not",
            Token::NotIn => "not in",
            Token::Or => "or",
            Token::Pass => "pass",
            Token::Return => "return",
            Token::While => "while",
            Token::Reserved(word) => word,
            _ => self.punctuation().unwrap_or(""),
        }
    }

    /// The name as messages show it: punctuation in quotes.
    pub(crate) fn quoted(self) -> String {
        match self.punctuation() {
            Some(text) => format!("'{text}'"),
            None => self.name().to_owned(),
        }
    }

    fn punctuation(self) -> Option<&'static str> {
        Some(match self {
            Token::Plus => "+",
            Token::Minus => "-",
            Token::Star => "*",
            Token::Slash => "/",
            Token::SlashSlash => "//",
            Token::Percent => "%",
            Token::Amp => "&",
            Token::Pipe => "|",
            Token::Circumflex => "^",
            Token::LtLt => "<<",
            Token::GtGt => ">>",
            Token::Tilde => "~",
            Token::Dot => ".",
            Token::Comma => ",",
            Token::Eq => "=",
            Token::Semi => ";",
            Token::Colon => ":",
            Token::LParen => "(",
            Token::RParen => ")",
            Token::LBrack => "[",
            Token::RBrack => "]",
            Token::LBrace => "{",
            Token::RBrace => "}",
            Token::Lt => "<",
            Token::Gt => ">",
            Token::Ge => ">=",
            Token::Le => "<=",
            Token::EqEq => "==",
            Token::NotEq => "!=",
            Token::PlusEq => "+=",
            Token::MinusEq => "-=",
            Token::StarEq => "*=",
            Token::SlashEq => "/=",
            Token::SlashSlashEq => "//=",
            Token::PercentEq => "%=",
            Token::AmpEq => "&=",
            Token::PipeEq => "|=",
            Token::CircumflexEq => "^=",
            Token::LtLtEq => "<<=",
            Token::GtGtEq => ">>=",
            Token::StarStar => "**",
            _ => return None,
        })
    }
}

const RESERVED: &[&str] = &[
    "as", "async", "await", "class", "del", "except", "finally", "from", "global", "import", "is",
    "nonlocal", "raise", "try", "with", "yield",
];
