//! Anchors, aliases, tags and directives.

use super::scanner::Scanner;
use super::token::{Mark, Piece, ScanResult, TagParts, TokenKind};

impl Scanner<'_> {
    pub(super) fn fetch_anchor(&mut self, kind: fn(Piece) -> TokenKind) -> ScanResult<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.mark();
        self.skip_ascii();
        let from = self.at;
        while is_word(self.byte()) {
            self.skip_ascii();
        }
        let ends_well = self.is_blank_or_end(self.at)
            || matches!(
                self.byte(),
                b'?' | b':' | b',' | b']' | b'}' | b'%' | b'@' | b'`'
            );
        if self.at == from || !ends_well {
            return self.fail(
                Some(start),
                "did not find expected alphabetic or numeric character",
            );
        }
        self.push(kind(Piece::span(from, self.at)), start);
        Ok(())
    }

    pub(super) fn fetch_tag(&mut self) -> ScanResult<()> {
        self.save_simple_key()?;
        self.simple_key_allowed = false;
        let start = self.mark();
        let (handle, suffix);
        if self.byte_at(self.at + 1) == b'<' {
            self.advance_to(self.at + 2);
            handle = String::new();
            suffix = self.scan_tag_uri("", start)?;
            if self.byte() != b'>' {
                return self.fail(Some(start), "did not find the expected '>'");
            }
            self.skip_ascii();
        } else {
            let scanned = self.scan_tag_handle(false, start)?;
            if scanned.len() >= 2 && scanned.starts_with('!') && scanned.ends_with('!') {
                suffix = self.scan_tag_uri("", start)?;
                handle = scanned;
            } else {
                let rest = self.scan_tag_uri(&scanned, start)?;
                // The tag `!` alone stands for "not resolved".
                if rest.is_empty() {
                    handle = String::new();
                    suffix = "!".to_owned();
                } else {
                    handle = "!".to_owned();
                    suffix = rest;
                }
            }
        }
        if !self.is_blank_or_end(self.at) {
            return self.fail(
                Some(start),
                "did not find expected whitespace or line break",
            );
        }
        self.push(
            TokenKind::Tag(Box::new(TagParts {
                handle: handle.into(),
                rest: suffix.into(),
            })),
            start,
        );
        Ok(())
    }

    /// `!`, `!!` or `!word!`; without a closing `!` what was read is the beginning of a suffix.
    fn scan_tag_handle(&mut self, directive: bool, start: Mark) -> ScanResult<String> {
        if self.byte() != b'!' {
            return self.fail(Some(start), "did not find expected '!'");
        }
        let from = self.at;
        self.skip_ascii();
        while is_word(self.byte()) {
            self.skip_ascii();
        }
        if self.byte() == b'!' {
            self.skip_ascii();
        } else if directive && &self.text[from..self.at] != "!" {
            return self.fail(Some(start), "did not find expected '!'");
        }
        Ok(self.text[from..self.at].to_owned())
    }

    /// A tag's suffix or a prefix; `head` is what was taken for a handle before.
    fn scan_tag_uri(&mut self, head: &str, start: Mark) -> ScanResult<String> {
        let mut uri: Vec<u8> = head.bytes().skip(1).collect();
        let mut any = !head.is_empty();
        loop {
            match self.byte() {
                b'%' => self.scan_uri_escapes(&mut uri, start)?,
                byte if is_uri(byte) => {
                    uri.push(byte);
                    self.skip_ascii();
                }
                _ => break,
            }
            any = true;
        }
        if !any {
            return self.fail(Some(start), "did not find expected tag URI");
        }
        String::from_utf8(uri)
            .or_else(|_| self.fail(Some(start), "found an incorrect trailing UTF-8 octet"))
    }

    /// `%41` and longer ones that make up one character.
    fn scan_uri_escapes(&mut self, uri: &mut Vec<u8>, start: Mark) -> ScanResult<()> {
        let mut width = 0;
        loop {
            let high = (self.byte_at(self.at + 1) as char).to_digit(16);
            let low = (self.byte_at(self.at + 2) as char).to_digit(16);
            let (b'%', Some(high), Some(low)) = (self.byte(), high, low) else {
                return self.fail(Some(start), "did not find URI escaped octet");
            };
            let octet = (high << 4 | low) as u8;
            if width == 0 {
                width = match octet {
                    0x00..=0x7F => 1,
                    0xC0..=0xDF => 2,
                    0xE0..=0xEF => 3,
                    0xF0..=0xF7 => 4,
                    _ => return self.fail(Some(start), "found an incorrect leading UTF-8 octet"),
                };
            } else if octet & 0xC0 != 0x80 {
                return self.fail(Some(start), "found an incorrect trailing UTF-8 octet");
            }
            uri.push(octet);
            self.advance_to(self.at + 3);
            width -= 1;
            if width == 0 {
                return Ok(());
            }
        }
    }

    pub(super) fn scan_directive(&mut self) -> ScanResult<()> {
        let start = self.mark();
        self.skip_ascii();
        let from = self.at;
        while is_word(self.byte()) {
            self.skip_ascii();
        }
        if self.at == from {
            return self.fail(Some(start), "could not find expected directive name");
        }
        if !self.is_blank_or_end(self.at) {
            return self.fail(Some(start), "found unexpected non-alphabetical character");
        }
        let kind = match &self.text[from..self.at] {
            "YAML" => self.scan_version(start)?,
            "TAG" => self.scan_tag_directive(start)?,
            _ => return self.fail(Some(start), "found unknown directive name"),
        };
        self.push(kind, start);
        self.skip_blanks();
        if self.byte() == b'#' {
            let end = self.line_end(self.at);
            self.advance_to(end);
        }
        if !self.is_break_or_end(self.at) {
            return self.fail(Some(start), "did not find expected comment or line break");
        }
        self.skip_break();
        Ok(())
    }

    fn skip_blanks(&mut self) {
        while matches!(self.byte(), b' ' | b'\t') {
            self.skip_ascii();
        }
    }

    fn scan_version(&mut self, start: Mark) -> ScanResult<TokenKind> {
        self.skip_blanks();
        let major = self.scan_version_number(start)?;
        if self.byte() != b'.' {
            return self.fail(Some(start), "did not find expected digit or '.' character");
        }
        self.skip_ascii();
        let minor = self.scan_version_number(start)?;
        Ok(TokenKind::VersionDirective { major, minor })
    }

    fn scan_version_number(&mut self, start: Mark) -> ScanResult<u8> {
        let from = self.at;
        let mut value: u8 = 0;
        while self.byte().is_ascii_digit() {
            if self.at - from == 2 {
                return self.fail(Some(start), "found extremely long version number");
            }
            value = value * 10 + (self.byte() - b'0');
            self.skip_ascii();
        }
        if self.at == from {
            return self.fail(Some(start), "did not find expected version number");
        }
        Ok(value)
    }

    fn scan_tag_directive(&mut self, start: Mark) -> ScanResult<TokenKind> {
        self.skip_blanks();
        let handle = self.scan_tag_handle(true, start)?;
        if !matches!(self.byte(), b' ' | b'\t') {
            return self.fail(Some(start), "did not find expected whitespace");
        }
        self.skip_blanks();
        let prefix = self.scan_tag_uri("", start)?;
        if !self.is_blank_or_end(self.at) {
            return self.fail(
                Some(start),
                "did not find expected whitespace or line break",
            );
        }
        Ok(TokenKind::TagDirective(Box::new(TagParts {
            handle: handle.into(),
            rest: prefix.into(),
        })))
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn is_uri(byte: u8) -> bool {
    is_word(byte)
        || matches!(
            byte,
            b',' | b'['
                | b']'
                | b';'
                | b'/'
                | b'?'
                | b':'
                | b'@'
                | b'&'
                | b'='
                | b'+'
                | b'$'
                | b'.'
                | b'!'
                | b'~'
                | b'*'
                | b'\''
                | b'('
                | b')'
        )
}
