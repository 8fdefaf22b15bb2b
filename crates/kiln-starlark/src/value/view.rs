//! Strings and bytes as sequences: the results of `elems`, `codepoints` and the like.

use std::rc::Rc;

use super::Value;
use crate::text;

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct View {
    pub(crate) bytes: Rc<[u8]>,
    pub(crate) kind: ViewKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum ViewKind {
    /// One-byte strings.
    Elements,
    /// The numbers of the bytes of a string.
    ElementOrds,
    /// Strings of one character.
    CodePoints,
    /// The numbers of the characters.
    CodePointOrds,
    /// The numbers of the bytes of a bytes value.
    Bytes,
}

impl View {
    pub(super) fn type_name(&self) -> &'static str {
        match self.kind {
            ViewKind::Elements | ViewKind::ElementOrds => "string.elems",
            ViewKind::CodePoints | ViewKind::CodePointOrds => "string.codepoints",
            ViewKind::Bytes => "bytes.elems",
        }
    }

    pub(super) fn is_of_bytes(&self) -> bool {
        self.kind == ViewKind::Bytes
    }

    /// The call that returns such a view, in the notation of `repr`.
    pub(super) fn method(&self) -> &'static [u8] {
        match self.kind {
            ViewKind::Elements | ViewKind::Bytes => b".elems()",
            ViewKind::ElementOrds => b".elem_ords()",
            ViewKind::CodePoints => b".codepoints()",
            ViewKind::CodePointOrds => b".codepoint_ords()",
        }
    }

    /// The length, if it is known without reading the text.
    pub(super) fn length(&self) -> Option<usize> {
        match self.kind {
            ViewKind::Elements | ViewKind::ElementOrds => Some(self.bytes.len()),
            _ => None,
        }
    }

    /// The element at an offset, and the next offset.
    pub(crate) fn at(&self, offset: usize) -> Option<(Value, usize)> {
        let rest = self.bytes.get(offset..)?;
        let byte = *rest.first()?;
        Some(match self.kind {
            ViewKind::Elements => (Value::string([byte]), offset + 1),
            ViewKind::ElementOrds | ViewKind::Bytes => (Value::from(i64::from(byte)), offset + 1),
            ViewKind::CodePoints => {
                let (char, length) = text::decode_char(rest);
                (
                    Value::string(char.encode_utf8(&mut [0; 4])),
                    offset + length,
                )
            }
            ViewKind::CodePointOrds => {
                let (char, length) = text::decode_char(rest);
                (Value::from(i64::from(u32::from(char))), offset + length)
            }
        })
    }
}
