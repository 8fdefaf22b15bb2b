//! Failures there and back, whole and cut.

use bytes::Bytes;
use prost::Message as _;
use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use super::{from_status, to_status, with_details};
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
fn others_read_the_status_and_pass_over_what_they_do_not_know() {
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
