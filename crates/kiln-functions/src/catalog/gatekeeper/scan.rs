//! Checks a policy before it is parsed.
//!
//! The engine's parser recurses for every bracket and every sign, reads the content of some brackets several times,
//! and builds trees as deep as chains of operators are long. Therefore tokens are counted first: a policy that passes
//! can be parsed in little time and on a stack of a known size.

use regorus::Source;
use regorus::unstable::{Lexer, Token, TokenKind};

use super::limits::{
    MAX_COLUMN, MAX_EXPRESSION_DEPTH, MAX_NESTING, MAX_NUMBER_BITS, MAX_PARSER_WORK, unsupported,
};
use super::rewrite;

/// An open bracket, or the policy itself.
struct Level {
    /// Operators since the current expression began.
    chain: usize,
    /// How often the parser reads a token at this level.
    readings: u64,
    is_comprehension: bool,
    takes_comprehension: bool,
}

impl Level {
    fn new(readings: u64, takes_comprehension: bool) -> Level {
        Level {
            chain: 0,
            readings,
            is_comprehension: false,
            takes_comprehension,
        }
    }
}

struct TokenScan {
    levels: Vec<Level>,
    work: u64,
    /// Whether an operand ended with the last token.
    after_operand: bool,
    /// Where the last token ended.
    end: u32,
}

/// Whether a policy can be parsed; its tokens are deducted from the limit of all policies.
pub(super) fn check(rego: &str, tokens: &mut usize) -> Result<(), String> {
    // The parser reports text that cannot be tokenized.
    let Ok(source) = Source::from_contents(String::new(), rego.to_owned()) else {
        return Ok(());
    };
    let mut lexer = Lexer::new(&source);
    lexer.set_max_col(MAX_COLUMN);
    let mut scan = TokenScan {
        levels: vec![Level::new(2, false)],
        work: 0,
        after_operand: false,
        end: 0,
    };
    while let Ok(token) = lexer.next_token() {
        if token.0 == TokenKind::Eof {
            break;
        }
        let fault = match tokens.checked_sub(1) {
            None => Some(unsupported("policies are too long")),
            Some(left) => {
                *tokens = left;
                scan.token(&token).err()
            }
        };
        if let Some(fault) = fault {
            return Err(format!("{}: {fault}", token.1.line));
        }
    }
    Ok(())
}

impl TokenScan {
    fn token(&mut self, token: &Token) -> Result<(), String> {
        let Token(kind, span) = token;
        let text = match kind {
            TokenKind::String | TokenKind::RawString => "",
            _ => span.text(),
        };
        let Some(level) = self.levels.last_mut() else {
            return Ok(());
        };
        self.work += level.readings;
        let mut after_operand = false;
        match text {
            "(" | "[" | "{" | "set(" => {
                // `a[b]` and `f(x)` are read once; arrays, sets and objects are tried as comprehensions first.
                let continues = self.after_operand && span.start == self.end;
                if continues && text == "[" {
                    level.chain += 1;
                } else if self.after_operand && !continues {
                    level.chain = 0;
                }
                let tried = text == "{" || (text == "[" && !continues);
                let readings = level.readings.saturating_mul(if tried { 2 } else { 1 });
                self.levels.push(Level::new(readings, tried));
            }
            ")" | "]" | "}" => {
                if self.levels.len() > 1 {
                    self.levels.pop();
                }
                after_operand = true;
            }
            "," | ";" | ":" => level.chain = 0,
            "|" => {
                level.chain += 1;
                if level.takes_comprehension && !level.is_comprehension {
                    level.is_comprehension = true;
                    level.readings = level.readings.saturating_mul(3);
                }
            }
            _ if *kind == TokenKind::Symbol || text == "in" => level.chain += 1,
            _ => {
                // `a -1` is a difference; other adjacent operands are separate expressions.
                let is_difference = *kind == TokenKind::Number && text.starts_with('-');
                if is_difference {
                    level.chain += 1;
                } else if self.after_operand {
                    level.chain = 0;
                }
                if *kind == TokenKind::Ident && rewrite::is_reserved(text) {
                    return Err(unsupported(&format!("the name {text} is reserved")));
                }
                after_operand = true;
            }
        }
        self.after_operand = after_operand;
        self.end = span.end + u32::from(matches!(kind, TokenKind::String | TokenKind::RawString));
        self.check_depth()
    }

    fn check_depth(&self) -> Result<(), String> {
        let nesting = self.levels.len() - 1;
        if nesting > MAX_NESTING {
            return Err(unsupported(&format!(
                "brackets are nested deeper than {MAX_NESTING} levels"
            )));
        }
        let chains: usize = self.levels.iter().map(|level| level.chain).sum();
        if nesting + chains > MAX_EXPRESSION_DEPTH {
            return Err(unsupported(&format!(
                "an expression is deeper than {MAX_EXPRESSION_DEPTH} levels of operators and brackets"
            )));
        }
        match self.work > MAX_PARSER_WORK {
            true => Err(unsupported(
                "too many arrays, sets, objects or comprehensions are nested",
            )),
            false => Ok(()),
        }
    }
}

/// Whether a number in text has few digits. The engine writes out `1e9` in full.
pub(super) fn is_short_number(text: &str) -> bool {
    let max_digits = MAX_NUMBER_BITS as usize / 4;
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.trim_start_matches(['+', '-'])),
        None => (text, "0"),
    };
    let exponent = exponent.chars().take_while(char::is_ascii_digit);
    let exponent = exponent.fold(0_usize, |number, digit| {
        let digit = digit.to_digit(10).unwrap_or_default() as usize;
        number.saturating_mul(10).saturating_add(digit)
    });
    digits.len().saturating_add(exponent) <= max_digits
}

#[cfg(test)]
mod tests {
    use super::{check, is_short_number};

    #[track_caller]
    fn refused(rego: &str, why: &str) {
        let fault = check(rego, &mut 100_000).unwrap_err();
        assert!(fault.contains(why), "{fault}");
    }

    #[test]
    fn nesting_and_chains_are_bounded() {
        let body = |expression: &str| format!("package a\nr {{\n  x := {expression}\n}}\n");
        refused(&body(&"(".repeat(50)), "nested deeper than 40");
        refused(&body(&"[".repeat(30)), "are nested");
        refused(&body(&"{1 | ".repeat(12)), "are nested");
        // Line breaks keep lines within the engine's limit.
        for more in [
            "\n+ a",
            "\n| a",
            ".a",
            "[0]",
            " -1",
            "\nin a",
            "\n== a",
            "\n& a",
            "\n* (a)",
            "\n- contains(a, b)",
        ] {
            refused(&body(&format!("a{}", more.repeat(310))), "deeper than 300");
        }
        refused(&body(&"-".repeat(400)), "deeper than 300");
        refused(&format!("{}\n", "a ".repeat(400)).repeat(300), "too long");
    }

    #[test]
    fn long_policies_of_short_expressions_pass() {
        let rule = "violation[{\"msg\": m}] {\n  x := input.review.object.spec.a[_].b[\"c\"]\n  not f(x, [1, 2])\n  \
                    m := sprintf(\"%v ((((( -\", [x])\n}\n";
        let policy = format!("package a\n{}", rule.repeat(1000));
        assert_eq!(check(&policy, &mut 100_000), Ok(()));
    }

    #[test]
    fn numbers_are_short_or_long() {
        for text in [
            "1",
            "-1.5",
            "1e400",
            "123456789012345678901234567890",
            "abc",
        ] {
            assert!(is_short_number(text), "{text}");
        }
        for text in ["1e5000", "1E99999999999999999999", "1e+10000"] {
            assert!(!is_short_number(text), "{text}");
        }
    }
}
