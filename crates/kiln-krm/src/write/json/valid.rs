//! Checks whether a text is JSON, for any text, without recursion and without building a tree.

/// Whether the text is one JSON value with blanks around it.
pub fn is_valid(text: &str) -> bool {
    let mut rest = Rest(text.as_bytes());
    check(&mut rest).is_some() && {
        rest.skip_blanks();
        rest.0.is_empty()
    }
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

fn check(rest: &mut Rest<'_>) -> Option<()> {
    // The closing brackets that are still missing.
    let mut open: Vec<u8> = Vec::new();
    loop {
        rest.skip_blanks();
        match rest.next()? {
            b'{' => {
                rest.skip_blanks();
                if !rest.eat(b"}") {
                    open.push(b'}');
                    rest.key()?;
                    continue;
                }
            }
            b'[' => {
                rest.skip_blanks();
                if !rest.eat(b"]") {
                    open.push(b']');
                    continue;
                }
            }
            b'"' => rest.string()?,
            b't' => rest.expect(b"rue")?,
            b'f' => rest.expect(b"alse")?,
            b'n' => rest.expect(b"ull")?,
            first @ (b'-' | b'0'..=b'9') => rest.number(first)?,
            _ => return None,
        }
        // A value is complete; close what it completes.
        loop {
            let Some(close) = open.last().copied() else {
                return Some(());
            };
            rest.skip_blanks();
            match rest.next()? {
                b',' => {
                    if close == b'}' {
                        rest.skip_blanks();
                        rest.key()?;
                    }
                    break;
                }
                byte if byte == close => {
                    open.pop();
                }
                _ => return None,
            }
        }
    }
}

impl Rest<'_> {
    fn next(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn eat(&mut self, text: &[u8]) -> bool {
        match self.0.strip_prefix(text) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.eat(text).then_some(())
    }

    fn skip_blanks(&mut self) {
        self.skip_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
    }

    /// The number of bytes skipped.
    fn skip_while(&mut self, wanted: impl Fn(u8) -> bool) -> usize {
        let count = self.0.iter().take_while(|byte| wanted(**byte)).count();
        self.0 = self.0.get(count..).unwrap_or_default();
        count
    }

    fn key(&mut self) -> Option<()> {
        self.expect(b"\"")?;
        self.string()?;
        self.skip_blanks();
        self.expect(b":")
    }

    /// The rest of a string whose opening quote has been read.
    fn string(&mut self) -> Option<()> {
        loop {
            match self.next()? {
                b'"' => return Some(()),
                b'\\' => match self.next()? {
                    b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => {}
                    b'u' => {
                        for _ in 0..4 {
                            self.next().filter(u8::is_ascii_hexdigit)?;
                        }
                    }
                    _ => return None,
                },
                0..=0x1f => return None,
                _ => {}
            }
        }
    }

    /// The rest of a number whose first byte has been read.
    fn number(&mut self, first: u8) -> Option<()> {
        let is_digit = |byte: u8| byte.is_ascii_digit();
        let first = if first == b'-' {
            self.next().filter(u8::is_ascii_digit)?
        } else {
            first
        };
        if first != b'0' {
            self.skip_while(is_digit);
        }
        if self.eat(b".") && self.skip_while(is_digit) == 0 {
            return None;
        }
        if self.eat(b"e") || self.eat(b"E") {
            let _ = self.eat(b"+") || self.eat(b"-");
            if self.skip_while(is_digit) == 0 {
                return None;
            }
        }
        Some(())
    }
}
