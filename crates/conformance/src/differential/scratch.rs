//! Small generated documents: nested collections with comments at all positions and columns.

use super::random::Random;

const KEYS: &[&str] = &[
    "a", "b", "name", "\"q\"", "'s'", "1", "true", "~", "é", "k k", "<<", "[k]", "{k: v}", "&y k",
];
const SCALARS: &[&str] = &[
    "",
    "1",
    "v",
    "two words",
    "\"d\"",
    "'s'",
    "\"a\\nb\"",
    "~",
    "null",
    "yes",
    "0x1F",
    "1e3",
    ".inf",
    "2001-01-01",
    "&x v",
    "!t v",
    "!!str 1",
    "!!int v",
    "! v",
    "[]",
    "{}",
    "[a, b]",
    "{a: b}",
    "[a: b]",
    "{a, b: }",
    "😀",
    "é",
    "\"\\u263A\"",
    "a#b",
    "'it''s'",
    "\"multi\n        line\"",
    "multi\n          line",
    "[a,\n          b]",
    "{a: b,\n          c: d}",
    "|\n          text\n          more",
    ">\n          text\n          more\n\n          para",
    "|-\n          text",
    "|+\n          text\n\n",
    ">-\n            deep\n          less",
    "|\n\n          x",
    "&x",
    "!t",
    "!!binary aGk=",
    "<<",
    "=",
    "[[a], {b: [c]}]",
    "[a, # c\n          b]",
    "\"\"",
    "''",
];
/// Mostly refused, so they are rare.
const ODD: &[&str] = &[
    "*x",
    "a: b",
    "- a",
    "-",
    "? k",
    "@",
    "`",
    "%a",
    "|2\n     x",
    "[",
    "{",
    "]",
    "}",
    "\"",
    "'",
    "a b: c",
    "&",
    "*",
    "!<",
];
const COMMENTS: &[&str] = &[
    "#",
    "# c",
    "#c",
    "# two words",
    "##",
    "# é😀",
    "#\tt",
    "# trailing ",
];

/// A stream of one or a few documents.
pub(super) fn stream(random: &mut Random) -> Vec<u8> {
    let mut writer = Writer {
        random,
        out: String::new(),
        budget: 0,
    };
    writer.budget = 3 + writer.random.below(14);
    writer.comments(0);
    if writer.random.one_in(5) {
        writer.out.push_str("---\n");
    }
    writer.collection(0);
    while writer.random.one_in(6) {
        let separator = writer.random.pick(&[
            "---\n",
            "--- # c\n",
            "...\n",
            "...\n---\n",
            "---\n\n",
            "--- \n",
        ]);
        writer.out.push_str(separator);
        writer.budget = 1 + writer.random.below(6);
        writer.comments(0);
        writer.collection(0);
    }
    writer.out.into_bytes()
}

struct Writer<'a> {
    random: &'a mut Random,
    out: String,
    /// Entries still to be written.
    budget: usize,
}

impl Writer<'_> {
    /// A block collection at this indentation. Recursion ends with the budget.
    fn collection(&mut self, indent: usize) {
        match self.random.one_in(3) {
            true => self.sequence(indent),
            false => self.mapping(indent),
        }
        self.comments(indent);
    }

    fn sequence(&mut self, indent: usize) {
        while self.begin_entry(indent) {
            self.out.push('-');
            self.item(indent);
        }
    }

    fn mapping(&mut self, indent: usize) {
        while self.begin_entry(indent) {
            let key = self.word(KEYS);
            self.out.push_str(key);
            self.out.push(':');
            self.value(indent);
        }
    }

    /// Whether another entry follows; if so, its line has begun.
    fn begin_entry(&mut self, indent: usize) -> bool {
        if self.budget == 0 || self.random.one_in(4) {
            return false;
        }
        self.budget -= 1;
        self.comments(indent);
        self.pad(indent);
        true
    }

    fn item(&mut self, indent: usize) {
        match self.random.below(6) {
            0 => {
                self.end_line();
                self.collection(indent + 2);
            }
            // The nested collection begins on the dash's line.
            1 | 2 => {
                let key = self.word(KEYS);
                self.out.push_str(&format!(" {key}:"));
                self.value(indent + 2);
                self.mapping(indent + 2);
            }
            _ => self.scalar(),
        }
    }

    fn value(&mut self, indent: usize) {
        if self.budget > 0 && self.random.one_in(3) {
            if self.random.one_in(6) {
                self.out
                    .push_str(self.random.pick(&[" &x", " !t", " &x !t", " !!map"]));
            }
            self.end_line();
            let deeper = self.random.pick(&[&2, &2, &2, &2, &1, &4]);
            self.collection(indent + deeper);
        } else {
            self.scalar();
        }
    }

    fn word(&mut self, usual: &[&'static str]) -> &'static str {
        match self.random.one_in(60) {
            true => self.random.pick(ODD),
            false => self.random.pick(usual),
        }
    }

    fn scalar(&mut self) {
        let text = self.word(SCALARS);
        if !text.is_empty() {
            self.out.push(' ');
            self.out.push_str(text);
        }
        self.end_line();
    }

    fn end_line(&mut self) {
        if self.random.one_in(5) {
            let comment = self.random.pick(COMMENTS);
            let gap = self.random.pick(&[" ", " ", "  ", "\t"]);
            self.out.push_str(gap);
            self.out.push_str(comment);
        }
        self.out.push('\n');
    }

    /// Zero or more lines of comments and blanks, mostly at this indentation.
    fn comments(&mut self, indent: usize) {
        while self.random.one_in(4) {
            match self.random.below(5) {
                0 => self.out.push('\n'),
                1 => {
                    let column = self.random.below(indent + 5);
                    self.pad(column);
                    self.out.push_str(self.random.pick(COMMENTS));
                    self.out.push('\n');
                }
                _ => {
                    self.pad(indent);
                    self.out.push_str(self.random.pick(COMMENTS));
                    self.out.push('\n');
                }
            }
            if self.random.one_in(4) {
                self.out.push('\n');
            }
        }
    }

    fn pad(&mut self, columns: usize) {
        self.out.extend(std::iter::repeat_n(' ', columns));
    }
}
