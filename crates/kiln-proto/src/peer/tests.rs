//! Limits and headers.

use super::*;

fn headers(entries: &[(&'static str, &'static str)]) -> HeaderMap {
    let entry = |(name, value): &(&'static str, &'static str)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    };
    entries.iter().map(entry).collect()
}

#[track_caller]
fn check(entries: &[(&'static str, &'static str)], max_message: Option<usize>, gzip: bool) {
    let facts = PeerFacts {
        max_message,
        accepts_gzip: gzip,
    };
    assert_eq!(PeerFacts::of(&headers(entries)), facts);
}

#[test]
fn headers_announce_limits_and_gzip() {
    check(&[], None, false);
    check(&[("kiln-max-message", "100")], Some(100), false);
    check(&[("kiln-max-message", "-1")], None, false);
    check(&[("kiln-max-message", "many")], None, false);
    check(
        &[("grpc-accept-encoding", "identity, gzip,deflate")],
        None,
        true,
    );
    check(&[("grpc-accept-encoding", "identity,gzipped")], None, false);
    let mut announced = HeaderMap::new();
    MessageLimits::new(100).announce(&mut announced);
    let facts = PeerFacts::of(&announced);
    assert_eq!((facts.max_message, facts.accepts_gzip), (Some(100), true));
}

#[test]
fn only_the_default_differs_between_porch_and_kiln() {
    let default = MessageLimits::new(DEFAULT_MAX_MESSAGE_SIZE);
    assert_eq!((default.porch, default.kiln), (6 << 20, 64 << 20));
    assert_eq!(default.at_most(10 << 20).kiln, 10 << 20);
    assert_eq!(default.at_most(1).kiln, 6 << 20);
    let given = MessageLimits::new(1000);
    assert_eq!((given.porch, given.kiln), (1000, 1000));
}

#[test]
fn the_smaller_limit_of_two_kiln_programs_counts_for_sending() {
    let limits = MessageLimits::new(DEFAULT_MAX_MESSAGE_SIZE);
    let kiln = |max_message| PeerFacts {
        max_message: Some(max_message),
        accepts_gzip: true,
    };
    let porch = PeerFacts::default();
    assert_eq!(limits.sending(porch), 6 << 20);
    assert_eq!(limits.receiving(porch), 6 << 20);
    assert_eq!(limits.sending(kiln(1000)), 1000);
    assert_eq!(limits.receiving(kiln(1000)), 64 << 20);
    assert_eq!(limits.sending(kiln(usize::MAX)), 64 << 20);
}
