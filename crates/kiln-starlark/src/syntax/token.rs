//! The tokens of the language and their names in messages.
//!
//! The names are go.starlark.net's: punctuation is quoted, other tokens are not.

macro_rules! tokens {
    (
        named { $($named:ident $name:literal,)* }
        punctuation { $($mark:ident $text:literal,)* }
        keywords { $($keyword:ident $word:literal,)* }
    ) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Token {
            $($named,)*
            $($mark,)*
            $($keyword,)*
        }

        impl Token {
            /// The keyword or reserved word of a text, if it is one.
            pub(crate) fn keyword(text: &[u8]) -> Option<Token> {
                match std::str::from_utf8(text).ok()? {
                    $($word => Some(Token::$keyword),)*
                    word => RESERVED.contains(&word).then_some(Token::Reserved),
                }
            }

            /// The bare name: `+`, `newline`, `int literal`.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Token::$named => $name,)*
                    $(Token::$mark => $text,)*
                    $(Token::$keyword => $word,)*
                }
            }

            fn is_punctuation(self) -> bool {
                matches!(self, $(Token::$mark)|*)
            }
        }
    };
}

tokens! {
    named {
        Eof "end of file",
        Newline "newline",
        Indent "indent",
        Outdent "outdent",
        Ident "identifier",
        Int "int literal",
        Float "float literal",
        String "string literal",
        // The original has no name for it.
        Bytes "",
        NotIn "not in",
        // A word that Python uses and this language reserves.
        Reserved "illegal token",
    }
    punctuation {
        Plus "+",
        Minus "-",
        Star "*",
        Slash "/",
        SlashSlash "//",
        Percent "%",
        Amp "&",
        Pipe "|",
        Circumflex "^",
        LtLt "<<",
        GtGt ">>",
        Tilde "~",
        Dot ".",
        Comma ",",
        Eq "=",
        Semi ";",
        Colon ":",
        LParen "(",
        RParen ")",
        LBrack "[",
        RBrack "]",
        LBrace "{",
        RBrace "}",
        Lt "<",
        Gt ">",
        Ge ">=",
        Le "<=",
        EqEq "==",
        NotEq "!=",
        PlusEq "+=",
        MinusEq "-=",
        StarEq "*=",
        SlashEq "/=",
        SlashSlashEq "//=",
        PercentEq "%=",
        AmpEq "&=",
        PipeEq "|=",
        CircumflexEq "^=",
        LtLtEq "<<=",
        GtGtEq ">>=",
        StarStar "**",
    }
    keywords {
        And "and",
        Break "break",
        Continue "continue",
        Def "def",
        Elif "elif",
        Else "else",
        For "for",
        If "if",
        In "in",
        Lambda "lambda",
        Load "load",
        Not "not",
        Or "or",
        Pass "pass",
        Return "return",
        While "while",
    }
}

impl Token {
    /// The name in messages: punctuation in quotes.
    pub(crate) fn quoted(self) -> String {
        match self.is_punctuation() {
            true => format!("'{}'", self.name()),
            false => self.name().to_owned(),
        }
    }
}

const RESERVED: &[&str] = &[
    "as", "async", "await", "class", "del", "except", "finally", "from", "global", "import", "is",
    "nonlocal", "raise", "try", "with", "yield",
];
