//! `bench limits`: pathological inputs at three sizes. Linear time gives a factor of about four.

use std::io::Write;
use std::time::Instant;

use kiln_yaml::{Encoder, SequenceStyle, parse_all};

const SIZES: [usize; 3] = [12_500_000, 25_000_000, 50_000_000];

/// A name and a generator of inputs of a given size.
type SlowInput = (&'static str, fn(usize) -> Vec<u8>);

const SHAPES: &[SlowInput] = &[
    ("# (one line)", |size| repeat("#", size)),
    ("# (a line each)", |size| repeat("#\n", size)),
    ("# and blank lines", |size| repeat("#\n\n", size)),
    ("indented #", |size| repeat("a: 1\n   #\n # c\n\n", size)),
    ("indented # only", |size| repeat("  # c\n", size)),
    ("ragged #", |size| {
        [b"a:\n    b: 1\n", &*repeat("  # c\n # d\n", size)].concat()
    }),
    ("# in flow", |size| {
        [b"[", &*repeat("a, #\n", size), b"]"].concat()
    }),
    ("[", |size| repeat("[", size)),
    ("[] in a sequence", |size| repeat("- []\n", size)),
    ("{a: ", |size| repeat("{a: ", size)),
    ("- ", |size| repeat("- ", size)),
    ("- (a line each)", |size| repeat("-\n", size)),
    ("? ", |size| repeat("? ", size)),
    ("a: 1 (one map)", |size| repeat("a: 1\n", size)),
    ("a: 1 (a map each)", |size| repeat("- a: 1\n", size)),
    ("a: (nested)", nested_maps),
    ("documents", |size| repeat("a: 1\n---\n", size)),
    ("blank lines", |size| repeat("\n", size)),
    ("spaces", |size| [&*repeat(" ", size), b"a"].concat()),
    ("one plain scalar", |size| repeat("word ", size)),
    ("plain, many lines", |size| repeat("word\n", size)),
    ("\" unclosed", |size| {
        [b"\"", &*repeat("a\n", size)].concat()
    }),
    ("one literal", |size| {
        [b"|\n", &*repeat(" x\n", size)].concat()
    }),
    ("anchors, aliases", |size| {
        [b"- &a b\n", &*repeat("- *a\n", size)].concat()
    }),
    ("many anchors", |size| numbered("- &a{} b\n- *a{}\n", size)),
    ("many tags", |size| numbered("- !t{} b\n", size)),
    ("many keys", |size| numbered("k{}: 1\n", size)),
    ("TAG directives", |size| {
        [&*numbered("%TAG !t{}! tag:x,2000:\n", size), b"---\na"].concat()
    }),
    ("? with comments", |size| {
        repeat("? a # c\n# d\n: b\n# e\n\n", size)
    }),
    ("tags", |size| repeat("- !t a\n", size)),
];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only shapes whose name contains this.
    #[arg(default_value = "")]
    name: String,
}

pub(crate) fn run(args: &Args, out: &mut dyn Write) -> anyhow::Result<()> {
    write!(out, "{:20}", "seconds at")?;
    for size in SIZES {
        write!(out, " {:>9}", format!("{} MB", size as f64 / 1e6))?;
    }
    writeln!(out, " {:>7}  outcome", "factor")?;
    let mut worst = 0.0_f64;
    let chosen = SHAPES.iter().filter(|(name, _)| name.contains(&args.name));
    for (name, make) in chosen {
        let mut seconds = [0.0; SIZES.len()];
        let mut outcome = String::new();
        write!(out, "{name:20}")?;
        for (place, size) in SIZES.iter().enumerate() {
            let input = make(*size);
            let start = Instant::now();
            outcome = rewrite(&input);
            seconds[place] = start.elapsed().as_secs_f64();
            write!(out, " {:9.3}", seconds[place])?;
            out.flush()?;
        }
        let factor = seconds[2] / seconds[0];
        writeln!(out, " {factor:7.1}  {outcome}")?;
        // Below a few milliseconds, a factor is meaningless.
        if seconds[2] > 0.05 {
            worst = worst.max(factor);
        }
    }
    writeln!(out, "worst factor={worst:.1} (4 is linear)")?;
    Ok(())
}

fn rewrite(input: &[u8]) -> String {
    match parse_all(input) {
        Err(error) => format!("refused: {error}"),
        Ok(documents) => {
            let mut encoder = Encoder::new();
            for document in &documents {
                encoder.document(document, SequenceStyle::Compact);
            }
            let written = encoder.finish().len() as f64 / 1e6;
            format!("{} documents, {written:.1} MB written", documents.len())
        }
    }
}

fn repeat(text: &str, size: usize) -> Vec<u8> {
    text.repeat(size / text.len()).into_bytes()
}

/// Each key is one column right of the last: 50 MB have just under 10,000 levels.
fn nested_maps(size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(size);
    let mut level = 0;
    while out.len() + level + 3 <= size && level < 9_990 {
        out.extend(std::iter::repeat_n(b' ', level));
        out.extend(b"a:\n");
        level += 1;
    }
    out
}

/// Repeats `pattern`, with a different number for `{}` each time.
fn numbered(pattern: &str, size: usize) -> Vec<u8> {
    let mut out = Vec::with_capacity(size + 64);
    let mut number = 0_usize;
    while out.len() < size {
        out.extend(pattern.replace("{}", &number.to_string()).as_bytes());
        number += 1;
    }
    out
}
