//! Failures encoded and decoded, complete and cut.

use bytes::Bytes;
use prost::Message as _;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{
    DEFAULT_ROOM, MAX_ENCODED_MESSAGE, fit, from_status, to_status, whole_message, with_details,
};
use crate::FunctionFailure;

fn failure(stderr: usize, output: usize, results: usize) -> FunctionFailure {
    FunctionFailure {
        image: "example.com/fn:v1".to_owned(),
        exit_code: 3,
        signal: None,
        stderr: vec![b'e'; stderr].into(),
        output: vec![b'o'; output].into(),
        results: vec![b'r'; results].into(),
        ..FunctionFailure::default()
    }
}

#[test]
fn what_fits_comes_back_whole() {
    let sent = failure(100, 2000, 50);
    let status = to_status(Code::Internal, "text".to_owned(), sent.clone(), 4096);
    assert_eq!((status.code(), status.message()), (Code::Internal, "text"));
    assert_eq!(from_status(&status), Some(sent));
}

#[test]
fn output_goes_first() {
    let got = failure(100, 2000, 50).fitted(1000);
    assert_eq!((got.output, got.output_omitted), (Bytes::new(), 2000));
    assert_eq!((got.stderr.len(), got.stderr_omitted), (100, 0));
    assert_eq!((got.results.len(), got.results_omitted), (50, 0));
}

#[test]
fn both_ends_of_what_was_printed_stay() {
    let mut sent = failure(0, 10, 50);
    sent.stderr = [vec![b'a'; 5000], vec![b'z'; 5000]].concat().into();
    let got = sent.fitted(1000);
    assert!(got.encoded_len() <= 1000, "{}", got.encoded_len());
    assert!(got.stderr.starts_with(b"aaa") && got.stderr.ends_with(b"zzz"));
    assert_eq!(got.stderr.len() as u64 + got.stderr_omitted, 10_000);
    assert_eq!(got.results.len(), 50);
}

#[test]
fn results_go_last_and_nothing_is_ever_too_large() {
    for room in 60..3000 {
        let got = failure(700, 900, 800).fitted(room);
        assert!(got.encoded_len() <= room, "{} > {room}", got.encoded_len());
        let stderr = got.stderr.len() as u64 + got.stderr_omitted;
        let output = got.output.len() as u64 + got.output_omitted;
        let results = got.results.len() as u64 + got.results_omitted;
        assert_eq!((stderr, output, results), (700, 900, 800));
    }
}

#[test]
fn other_clients_read_the_status_and_ignore_unknown_details() {
    let status = to_status(Code::Internal, "text".to_owned(), failure(1, 1, 1), 4096);
    let details = status.check_error_details().expect("readable details");
    assert!(details.retry_info().is_none());
}

#[test]
fn a_status_without_the_detail_has_no_failure() {
    assert_eq!(from_status(&Status::internal("x")), None);
    let other = with_details(Code::Internal, "x".to_owned(), Vec::new());
    assert_eq!(from_status(&other), None);
    let garbage = Status::with_details(Code::Internal, "x", Bytes::from_static(b"\xff\xff"));
    assert_eq!(from_status(&garbage), None);
}

/// The sizes of text and of everything in the headers that the transport makes of a status, as peers count them.
fn sizes(status: &Status) -> (usize, usize) {
    let response = status.clone().into_http::<()>();
    let headers = response.headers();
    let size = |name: &str| headers.get(name).map_or(0, |value| value.len());
    let all = headers.iter();
    let all = all.map(|(name, value)| name.as_str().len() + value.len() + 32);
    (size("grpc-message"), all.sum())
}

/// Texts with one to nine encoded bytes per character.
fn long_texts() -> Vec<String> {
    let parts = ["x", " ", "a b", "\n", "é", "\u{202e}", "😀", "{\"a\": <%>}"];
    let texts = parts
        .iter()
        .flat_map(|part| [2_000, 6_000, 60_000].map(|size| part.repeat(size / part.len())));
    texts.collect()
}

#[test]
fn a_status_for_any_client_is_below_the_limit_of_the_c_core() {
    for text in long_texts() {
        let plain = Status::internal(text.clone());
        let detailed = to_status(
            Code::Internal,
            text.clone(),
            failure(50_000, 9_000, 900),
            DEFAULT_ROOM,
        );
        let other = Status::with_details(Code::Unknown, text.clone(), vec![0xff; 9_000].into());
        for status in [plain, detailed, other] {
            let fitted = fit(&status, None);
            let (message, all) = sizes(&fitted);
            assert!(message <= MAX_ENCODED_MESSAGE, "{message} bytes");
            // A date is added.
            assert!(all + 128 < 8 * 1024, "{all} bytes");
            assert_eq!(fitted.code(), status.code());
            let whole = whole_message(&fitted);
            assert_eq!(whole, fitted.message(), "Go's clients take this one");
        }
    }
}

#[test]
fn a_status_that_fits_is_not_changed() {
    let sent = failure(100, 2000, 50);
    let status = to_status(
        Code::Internal,
        "text".to_owned(),
        sent.clone(),
        DEFAULT_ROOM,
    );
    let fitted = fit(&status, None);
    assert_eq!(
        (fitted.message(), fitted.details()),
        ("text", status.details())
    );
}

#[test]
fn large_parts_of_a_failure_go_before_the_failure_does() {
    let text = "t".repeat(2500);
    let status = to_status(
        Code::Internal,
        text,
        failure(50_000, 9_000, 900),
        DEFAULT_ROOM,
    );
    let failure = from_status(&fit(&status, None)).expect("a failure");
    assert_eq!(failure.exit_code, 3);
    assert!(
        failure.stderr_omitted > 40_000,
        "{}",
        failure.stderr_omitted
    );
}

#[test]
fn a_client_with_room_gets_the_whole_text() {
    for text in long_texts() {
        let room = 1_000_000;
        let plain = Status::internal(text.clone());
        let detailed = to_status(
            Code::Internal,
            text.clone(),
            failure(50_000, 9_000, 900),
            room,
        );
        for status in [plain, detailed.clone()] {
            let fitted = fit(&status, Some(room));
            assert!(sizes(&fitted).0 <= MAX_ENCODED_MESSAGE);
            assert_eq!(whole_message(&fitted), text);
        }
        assert_eq!(
            from_status(&fit(&detailed, Some(room))),
            Some(failure(50_000, 9_000, 900))
        );
    }
}
