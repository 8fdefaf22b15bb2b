//! The key of an answer: everything that it depends on.

use kiln_krm::Dialect;
use kiln_runtime::{Input, ReproducibleCall};
use kiln_store::{KeyHasher, ResultKey};

/// The number of the fields below and of their meaning. Raise it whenever a field is added, removed or changes its meaning,
/// and whenever [`Input::wire`] gives another text for the same resources: old answers are not found then.
pub(super) const SCHEME: u32 = 2;

/// The key of the answer to a call. The text has the resources and the configuration, exactly as the function gets them.
pub(super) fn answer_key(call: &ReproducibleCall, input: &Input<'_>) -> ResultKey {
    let ReproducibleCall {
        identity,
        interface,
        platform,
        arguments,
        environment,
        memory,
        // It decides whether there is a key at all.
        certainty: _,
    } = call;
    let memory = memory.map(u64::to_le_bytes);
    KeyHasher::new(SCHEME)
        .field(dialect_name(input.dialect()).as_bytes())
        .field(interface.as_bytes())
        .field(identity.as_str().as_bytes())
        .optional(platform.as_ref().map(String::as_bytes))
        .list(arguments.iter().map(Vec::as_slice))
        .list(environment.iter().map(Vec::as_slice))
        .optional(memory.as_ref().map(<[u8; 8]>::as_slice))
        .field(input.wire().as_bytes())
        .finish()
}

fn dialect_name(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Current => "current",
        Dialect::Legacy => "legacy",
    }
}
