//! Mutations of inputs at syntactic positions: lines, indentation, comments, quotes, brackets, marks.

use super::random::Random;
use super::scratch;

/// Maximum number of lines taken from a longer input.
const WINDOW: usize = 24;
/// Maximum number of mutations of an input. Many inputs must stay valid, or only errors are compared.
const CHANGES: &[&usize] = &[&0, &1, &1, &1, &1, &2, &2, &2, &3, &6];

const LINES: &[&str] = &[
    "",
    "",
    " ",
    "\t",
    "#",
    "# x",
    "#x",
    "# x ",
    "#\t",
    "# a: b",
    "## é",
    "- ",
    "-",
    "- a",
    "- - a",
    "- # c",
    "k: v",
    "k:",
    "k: # c",
    "? k",
    ": v",
    "?",
    "? # c",
    "---",
    "---",
    "--- # c",
    "--- a",
    "--- |",
    "...",
    "... # c",
    "[",
    "]",
    "{",
    "}",
    "},",
    "],",
    ",",
    "[a,",
    "{a: b,",
    "k: &x",
    "k: &x v",
    "k: *x",
    "*x : v",
    "<<: *x",
    "k: !!str 1",
    "k: !t",
    "!t",
    "&x",
    "k: |",
    "k: >",
    "k: |-",
    "k: >+",
    "k: |2",
    "k: >1-",
    "- |",
    "- >",
    "|",
    ">",
    "%YAML 1.1",
    "%TAG ! tag:x,2000:",
    "%X",
    "\"q",
    "q\"",
    "'s",
    "s'",
    "text",
    "more text",
    "k: \"a",
    "k: [",
    "k: {",
    "k: []",
    "k: {}",
    "k: [a, # c",
    "\u{feff}",
    "k: 'a: b'",
    "? [a]",
    "? |",
    "? - a",
    "- ? a",
    "-\tx",
    "k:\tv",
];
const TOKENS: &[&str] = &[
    ": ",
    ":",
    " #",
    " # c",
    "#",
    ",",
    ", ",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "'",
    "&x ",
    "*x",
    "*x ",
    "!t ",
    "!!int ",
    "!!str ",
    "!<t> ",
    "|",
    ">",
    "|+\n",
    ">-\n",
    "- ",
    "-",
    "? ",
    "?",
    "\t",
    "\r",
    "\r\n",
    "\u{85}",
    "\u{2028}",
    "\u{2029}",
    "\u{feff}",
    "é",
    "😀",
    "\u{a0}",
    "\\",
    "\\n",
    "\\x41",
    "\\\n",
    "%",
    "@",
    "`",
    "~",
    " ",
    "  ",
    "    ",
    "\n",
    "\n\n",
    "\n ",
    "0x1",
    "1e3",
    "2001-01-01",
    "yes",
    "null",
    "<<",
    "=",
    "''",
    "\"\"",
    "\u{7f}",
    "\u{0}",
    "x",
    "...",
    "---",
    "--- ",
    "\n---\n",
    "\n...\n",
];
const HEADERS: &[&str] = &[
    "|", ">", "|-", ">-", "|+", ">+", "|1", "|2", ">2", "|2-", ">1+", "| # c", "> # c", "|9",
];

pub(super) struct Mutator {
    seeds: Vec<Vec<u8>>,
}

impl Mutator {
    /// `seeds` must not be empty.
    pub(super) fn new(seeds: Vec<Vec<u8>>) -> Mutator {
        Mutator { seeds }
    }

    /// An input that depends only on the generator's seed.
    pub(super) fn input(&self, random: &mut Random) -> Vec<u8> {
        let base = match random.below(3) {
            0 => scratch::stream(random),
            _ => self.window(random),
        };
        let mut text = String::from_utf8_lossy(&base).into_owned();
        for _ in 0..*random.pick(CHANGES) {
            text = self.change(text, random);
        }
        let mut input = text.into_bytes();
        if random.one_in(400) && !input.is_empty() {
            let place = random.below(input.len());
            input[place] = random.below(256) as u8;
        }
        input
    }

    /// Some successive lines of a seed.
    fn window(&self, random: &mut Random) -> Vec<u8> {
        let seed = &self.seeds[random.below(self.seeds.len())];
        let lines: Vec<&[u8]> = seed.split_inclusive(|byte| *byte == b'\n').collect();
        if lines.len() <= WINDOW {
            return seed.clone();
        }
        // Starts at a line of the outermost level: YAML refuses a line left of the first.
        let mut start = random.below(lines.len());
        while start > 0
            && lines[start]
                .first()
                .is_none_or(|first| b" \t-#".contains(first))
        {
            start -= 1;
        }
        let length = 1 + random.below(WINDOW);
        lines
            .iter()
            .skip(start)
            .take(length)
            .flat_map(|line| line.iter().copied())
            .collect()
    }

    fn change(&self, text: String, random: &mut Random) -> String {
        let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
        if lines.is_empty() {
            lines.push("\n".to_owned());
        }
        let at = random.below(lines.len());
        match random.below(16) {
            0 | 1 => {
                let indent = indent_near(&lines[at], random);
                let line = format!("{:indent$}{}\n", "", random.pick(LINES));
                lines.insert(at, line);
            }
            2 => {
                let indent = indent_near(&lines[at], random);
                let comment = random.pick(&["#", "# x", "# y", "#z"]);
                let mut block = format!("{:indent$}{comment}\n", "");
                if random.one_in(2) {
                    block.insert(0, '\n');
                }
                if random.one_in(2) {
                    block.push('\n');
                }
                lines.insert(at, block);
            }
            3 => {
                let end = random.pick(&[" # c", " #", "# c", "  # c", "\t# c", " ", ":", ","]);
                let line = &mut lines[at];
                let place = line.trim_end_matches(['\n', '\r']).len();
                line.insert_str(place, end);
            }
            4 | 5 => {
                let until = lines.len().min(at + 1 + random.below(3));
                let shift = 1 + random.below(3);
                let right = random.one_in(2);
                for line in &mut lines[at..until] {
                    shift_line(line, shift, right);
                }
            }
            6 => {
                lines.remove(at);
            }
            7 => lines.insert(at, lines[at].clone()),
            8 => {
                let other = random.below(lines.len());
                lines.swap(at, other);
            }
            9 => {
                let other = String::from_utf8_lossy(&self.window(random)).into_owned();
                let taken = 1 + random.below(4);
                let splice = other.split_inclusive('\n').take(taken).map(str::to_owned);
                lines.splice(at..at, splice);
            }
            10..=12 => {
                let token = random.pick(TOKENS);
                let place = char_place(&lines[at], random);
                lines[at].insert_str(place, token);
            }
            13 => {
                let line = &mut lines[at];
                let place = char_place(line, random);
                let end = (place + 1 + random.below(3)).min(line.len());
                let end = (end..=line.len()).find(|end| line.is_char_boundary(*end));
                line.drain(place..end.unwrap_or(place));
            }
            14 => block_scalar(&mut lines, at, random),
            _ => whole(&mut lines, random),
        }
        lines.concat()
    }
}

/// An indentation at or near that of a line.
fn indent_near(line: &str, random: &mut Random) -> usize {
    let indent = line.len() - line.trim_start_matches(' ').len();
    match random.below(6) {
        0 => 0,
        1 => random.below(9),
        2 => indent + 2,
        3 => indent.saturating_sub(2),
        4 => indent + 1,
        _ => indent,
    }
}

fn shift_line(line: &mut String, columns: usize, right: bool) {
    if right {
        line.insert_str(0, &"   "[..columns.min(3)]);
    } else {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        line.drain(..columns.min(spaces));
    }
}

/// A position between two characters.
fn char_place(line: &str, random: &mut Random) -> usize {
    let places: Vec<usize> = line.char_indices().map(|(place, _)| place).collect();
    places.get(random.below(places.len())).copied().unwrap_or(0)
}

/// Turns what follows a line's first `: ` or `- ` into a block scalar with the next lines as its text.
fn block_scalar(lines: &mut [String], at: usize, random: &mut Random) {
    let line = &mut lines[at];
    let Some(mark) = line.find(": ").or_else(|| line.find("- ")) else {
        return;
    };
    let header = random.pick(HEADERS);
    let text = line.split_off(mark + 2);
    let indent = indent_near(line, random);
    line.push_str(&format!("{header}\n{:1$}{text}", "", indent + 2));
}

/// Changes to the whole text: line ends, its beginning, its end, brackets around it.
fn whole(lines: &mut Vec<String>, random: &mut Random) {
    match random.below(8) {
        0 => {
            for line in lines {
                *line = line.replace('\n', "\r\n");
            }
        }
        1 => {
            if let Some(last) = lines.last_mut() {
                last.truncate(last.trim_end().len());
            }
        }
        2 => lines.push("\n\n".to_owned()),
        3 => {
            for line in lines.iter_mut() {
                line.insert_str(0, "  ");
            }
            lines.insert(
                0,
                random
                    .pick(&[
                        "k:\n", "-\n", "? a\n:\n", "k: &x\n", "--- !t\n", "k: |\n", "# c\n\n",
                    ])
                    .to_owned(),
            );
        }
        4 => lines.insert(
            0,
            random
                .pick(&[
                    "---\n",
                    "# h\n",
                    "# h\n\n",
                    "\n",
                    "\u{feff}",
                    "%YAML 1.1\n---\n",
                    "#\n# h\n---\n",
                ])
                .to_owned(),
        ),
        5 => lines.push(
            random
                .pick(&[
                    "# f\n",
                    "\n# f\n",
                    "---\n",
                    "...\n",
                    "  # f\n",
                    "# f",
                    "\n\n# f\n\n# g\n",
                ])
                .to_owned(),
        ),
        6 => {
            let (open, close) = match random.one_in(2) {
                true => ("[", "]\n"),
                false => ("{", "}\n"),
            };
            lines.insert(0, open.to_owned());
            lines.push(close.to_owned());
        }
        _ => {
            let copy = lines.clone();
            lines.push("---\n".to_owned());
            lines.extend(copy);
        }
    }
}
