//! Starlark programs: whatever the source is, a run stays within its limits.

use kiln_starlark::{Dialect, Host, Limits, Program, Usage, modules};

use crate::bounded;

const LIMITS: Limits = Limits {
    steps: 2_000_000,
    bytes: 16_000_000,
};

/// How much may be allocated at a time: what the limits count, copies that are under way, and the compiled program.
const MAX_BYTES: usize = 64_000_000;

/// No source makes the parser or the machine panic, overflow the stack or exceed the limits. That it ends soon is for
/// libfuzzer's time limit to see.
pub fn starlark(source: &[u8]) {
    bounded::run(MAX_BYTES, || run(source));
}

fn run(source: &[u8]) {
    let program = match Program::parse("fuzz", source, &Dialect::extended(), &|_| false) {
        Ok(program) => program,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    let usage = Usage::new(&LIMITS, &|| None);
    let mut printed = 0;
    let mut host = Host {
        usage: &usage,
        print: &mut |line| printed += line.len() as u64,
        load: &mut |module| Ok(modules::find(module).unwrap_or_default()),
    };
    let ended = program.run(&[], &mut host);
    assert!(printed <= LIMITS.bytes);
    if let Err(error) = ended {
        assert!(error.message.len() < 2 << 20);
        assert!(!error.backtrace().is_empty());
    }
}
