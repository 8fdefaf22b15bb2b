//! Answers of all kinds and their outcomes.

use kiln_proto::failure::{to_status, with_details};

use super::*;

const IMAGE: &str = "example.com/fn:v1";

fn take(answer: Result<EvaluateFunctionResponse, Status>) -> Result<Outcome, RunError> {
    take_with(None, answer)
}

fn take_with(
    deadline: Option<Deadline>,
    answer: Result<EvaluateFunctionResponse, Status>,
) -> Result<Outcome, RunError> {
    let asked = RunnerCall {
        image: IMAGE,
        address: &"runner:9445".parse().unwrap(),
        is_encrypted: false,
        limits: MessageLimits::new(1000),
        deadline,
        started: Instant::now(),
    };
    asked.outcome(answer.map(Response::new).map_err(CallError::from))
}

#[track_caller]
fn text(answer: Status) -> String {
    take(Err(answer)).unwrap_err().to_string()
}

fn wire(outcome: Outcome) -> String {
    match outcome.output {
        Output::Wire(bytes) => String::from_utf8(bytes.into()).unwrap(),
        Output::List(_) => panic!("a list"),
    }
}

fn failure() -> FunctionFailure {
    FunctionFailure {
        image: IMAGE.to_owned(),
        exit_code: 3,
        stderr: "headtail".into(),
        output: "kind: ResourceList\n".into(),
        results: "- message: bad\n".into(),
        ..FunctionFailure::default()
    }
}

#[test]
fn success_is_an_outcome_with_what_was_printed() {
    let outcome = take(Ok(EvaluateFunctionResponse {
        resource_list: "list".into(),
        log: "talk".into(),
    }));
    let outcome = outcome.unwrap();
    assert_eq!(outcome.exit_code, 0);
    assert_eq!(outcome.stderr, b"talk");
    assert_eq!(wire(outcome), "list");
}

#[test]
fn a_failed_function_has_its_identity() {
    let mut status = to_status(Code::Internal, "text".to_owned(), failure(), 10_000);
    let identity = "native:set-labels@v0.2.0#1";
    let metadata = status.metadata_mut();
    metadata.insert(IDENTITY_METADATA, identity.parse().unwrap());
    let outcome = take(Err(status)).unwrap();
    assert_eq!(outcome.exit_code, 3);
    assert_eq!(outcome.identity.unwrap().as_str(), identity);
}

#[test]
fn a_failed_function_comes_back_whole() {
    let status = to_status(Code::Internal, "text".to_owned(), failure(), 10_000);
    let outcome = take(Err(status)).unwrap();
    assert_eq!((outcome.exit_code, outcome.signal), (3, None));
    assert_eq!(outcome.stderr, b"headtail");
    assert_eq!(wire(outcome), "kind: ResourceList\n");
}

#[test]
fn a_signal_comes_back() {
    let killed = FunctionFailure {
        exit_code: -1,
        signal: Some(9),
        ..failure()
    };
    let status = to_status(Code::Internal, "text".to_owned(), killed, 10_000);
    assert_eq!(take(Err(status)).unwrap().exit_text(), "signal: killed");
}

#[test]
fn results_survive_an_output_that_did_not_fit() {
    let cut = FunctionFailure {
        output: Default::default(),
        output_omitted: 1_000_000,
        stderr_omitted: 77,
        ..failure()
    };
    let status = to_status(Code::Internal, "text".to_owned(), cut, 10_000);
    let outcome = take(Err(status)).unwrap();
    assert_eq!(outcome.stderr, b"head[... 77 bytes omitted ...]tail");
    let list = wire(outcome);
    assert!(list.ends_with("items: []\nresults:\n- message: bad\n"));
    let list = kiln_krm::read::read_function_output(list.into(), kiln_krm::Dialect::Current);
    assert!(list.unwrap().results.is_some());
}

#[test]
fn a_runner_without_details_is_quoted() {
    let go = r#"Failed to execute function "example.com/fn:v1": exit status 1 (boom)"#;
    assert_eq!(
        text(Status::internal(go)),
        format!("func eval \"{IMAGE}\" failed: rpc error: code = Internal desc = {go}")
    );
    assert_eq!(
        text(Status::cancelled("x")),
        format!("func eval \"{IMAGE}\" failed: rpc error: code = Canceled desc = x")
    );
}

#[test]
fn failures_without_an_exit_code_keep_their_text() {
    // A success with a bad answer, and a function that did not start.
    for exit_code in [0, -1] {
        let failure = FunctionFailure {
            exit_code,
            ..failure()
        };
        let text = text(to_status(Code::Internal, "bad".to_owned(), failure, 10_000));
        assert!(text.ends_with("code = Internal desc = bad"), "{text}");
    }
}

#[test]
fn only_not_found_continues_the_search() {
    let not_found = take(Err(Status::not_found("no such function")));
    assert!(matches!(not_found, Err(RunError::NotFound(_))));
    let other = take(Err(with_details(Code::Unknown, "x".to_owned(), Vec::new())));
    assert!(matches!(other, Err(RunError::Remote(_))));
}

#[test]
fn limits_name_their_flags() {
    let flags =
        "--function-runner-grpc-max-message-size here and --max-request-body-size of the runner";
    let go = "grpc: received message larger than max (7000000 vs. 6291456)";
    let message = text(Status::resource_exhausted(go));
    assert!(message.contains(&format!("ResourceExhausted desc = {go}: raise {flags}")));
    let ours =
        "Error, decoded message length too large: found 5000 bytes, the limit is: 1000 bytes";
    let message = text(Status::out_of_range(ours));
    let expected = format!("grpc: received message larger than max (5000 vs. 1000): raise {flags}");
    assert!(message.contains(&expected), "{message}");
}

#[test]
fn a_local_timeout_is_reported_as_everywhere() {
    let up = Deadline {
        at: Instant::now(),
        timeout: Duration::from_secs(7),
    };
    let answer = take_with(Some(up), Err(Status::deadline_exceeded("x")));
    let expected = "function did not finish within 7s and was killed; a longer time can be given with --timeout";
    assert_eq!(answer.unwrap_err().to_string(), expected);
    let later = Deadline::after(Duration::from_secs(100));
    let answer = take_with(
        later,
        Err(Status::deadline_exceeded("the runner's own limit")),
    );
    assert!(
        answer
            .unwrap_err()
            .to_string()
            .contains("the runner's own limit")
    );
}
