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
        max_streamed: None,
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
    assert_eq!(facts.max_streamed, None);
}

#[test]
fn lists_in_parts_are_announced_if_they_can_be_larger_than_messages() {
    let default = MessageLimits::new(DEFAULT_MAX_MESSAGE_SIZE);
    let announced = |limits: MessageLimits| {
        let mut headers = HeaderMap::new();
        limits.announce(&mut headers);
        PeerFacts::of(&headers)
    };
    assert_eq!(announced(default).max_streamed, Some(256 << 20));
    assert_eq!(
        announced(default.within(80 << 20)).max_streamed,
        Some(70 << 20)
    );
    assert_eq!(announced(default.within(70 << 20)).max_streamed, None);
    assert_eq!(announced(MessageLimits::new(1000)).max_streamed, None);

    let smaller = announced(default.within(80 << 20));
    assert_eq!(default.sending_streamed(smaller), Some(70 << 20));
    assert_eq!(default.sending_streamed(PeerFacts::default()), None);
    assert_eq!(MessageLimits::new(1000).sending_streamed(smaller), None);
}

#[test]
fn only_the_default_differs_between_porch_and_kiln() {
    let default = MessageLimits::new(DEFAULT_MAX_MESSAGE_SIZE);
    assert_eq!((default.porch, default.kiln), (6 << 20, 64 << 20));
    assert_eq!(default.within(10 << 20).kiln, 10 << 20);
    assert_eq!(default.within(1).kiln, 6 << 20);
    let given = MessageLimits::new(1000);
    assert_eq!((given.porch, given.kiln), (1000, 1000));
}

#[test]
fn the_smaller_limit_of_two_kiln_programs_counts_for_sending() {
    let limits = MessageLimits::new(DEFAULT_MAX_MESSAGE_SIZE);
    let kiln = |max_message| PeerFacts {
        max_message: Some(max_message),
        accepts_gzip: true,
        ..PeerFacts::default()
    };
    let porch = PeerFacts::default();
    assert_eq!(limits.sending(porch), 6 << 20);
    assert_eq!(limits.receiving(porch), 6 << 20);
    assert_eq!(limits.sending(kiln(1000)), 1000);
    assert_eq!(limits.receiving(kiln(1000)), 64 << 20);
    assert_eq!(limits.sending(kiln(usize::MAX)), 64 << 20);
}
