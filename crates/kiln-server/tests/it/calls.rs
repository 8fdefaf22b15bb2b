//! Responses: lists, and statuses with their codes and texts.

use kiln_proto::failure;
use kiln_server::{Options, Words};
use tonic::Code;

use crate::harness::{LIST, TestServer, request};

#[tokio::test]
async fn a_program_gets_the_list_as_it_came_and_its_answer_goes_back_as_it_is() {
    let test_server = TestServer::new().await;
    test_server.script("cat", "echo said >&2; exec cat");
    let list = LIST.replace("name: a", "name:   a # odd");
    let answer = test_server.call("cat", list.clone()).await.expect("a list");
    assert_eq!(answer.resource_list, list);
    assert_eq!(answer.log, "said\n");
}

#[tokio::test]
async fn a_function_in_this_process_works_on_trees() {
    let test_server = TestServer::new().await;
    let list = format!("{LIST}functionConfig:\n  kind: X\n");
    let answer = test_server.call("tree", list).await.expect("a list");
    let text = String::from_utf8_lossy(&answer.resource_list).into_owned();
    assert!(text.starts_with("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n"));
    assert!(text.contains("    name: a\n") && text.ends_with("functionConfig:\n  kind: X\n"));
    assert_eq!(answer.log, "said");
}

#[tokio::test]
async fn a_program_that_fails_is_reported_by_its_exit_code_and_keeps_its_results() {
    let test_server = TestServer::new().await;
    let script =
        "cat; printf 'results:\\n- message: bad\\n  severity: error\\n'; echo oops >&2; exit 3";
    test_server.script("fails-late", script);
    let status = test_server
        .call("fails-late", LIST)
        .await
        .expect_err("a failure");
    assert_eq!(status.code(), Code::Internal);
    assert_eq!(
        status.message(),
        "Failed to execute function \"fails-late\": exit status 3 (oops\n)"
    );
    let failure = failure::from_status(&status).expect("details");
    assert_eq!(failure.image, "fails-late");
    assert_eq!((failure.exit_code, failure.signal), (3, None));
    assert_eq!(failure.stderr, "oops\n");
    assert_eq!(failure.results, "- message: bad\n  severity: error\n");
    assert!(failure.output.starts_with(LIST.as_bytes()));
}

#[tokio::test]
async fn the_wrapper_reports_results() {
    let test_server = TestServer::with(Options::default(), Words::Wrapper).await;
    let results =
        "results:\\n- message: bad\\n  severity: error\\n  field: {path: a.b}\\n- message: hm\\n";
    let script = format!("cat; printf '{results}'; echo oops >&2; exit 1");
    test_server.script("validates", &script);
    test_server.script("prints", "echo 'a: ['; echo oops >&2; exit 1");
    test_server.script("garbage", "echo 'kind: X'; echo oops >&2");
    test_server.script("silent", "exit 1");
    let texts = [
        (
            "validates",
            "failed to evaluate function \"validates\" with structured results: \
             [error] a.b: bad\n\n[info]: hm and stderr: oops\n",
        ),
        (
            "garbage",
            "failed to parse the output of function \"garbage\" with stderr 'oops\n': \
             input was of unexpected kind \"X\"; expected ResourceList",
        ),
        (
            "silent",
            "failed to parse the output of function \"silent\" with stderr '': \
             failed to parse input bytes: expected exactly one object, got 0",
        ),
    ];
    for (image, text) in texts {
        let status = test_server.call(image, LIST).await.expect_err("a failure");
        assert_eq!((status.code(), status.message()), (Code::Internal, text));
    }
    let status = test_server
        .call("prints", LIST)
        .await
        .expect_err("a failure");
    let start = "failed to parse the output of function \"prints\" with stderr 'oops\n': \
                 failed to parse input bytes: failed to parse input bytes: yaml: ";
    assert!(status.message().starts_with(start), "{}", status.message());
    let failure = failure::from_status(&status).expect("details");
    assert_eq!(
        (failure.exit_code, &failure.output[..]),
        (1, &b"a: [\n"[..])
    );
}

#[tokio::test]
async fn error_results_with_exit_zero_are_a_success() {
    let test_server = TestServer::with(Options::default(), Words::Wrapper).await;
    let script = "cat; printf 'results:\\n- message: bad\\n  severity: error\\n'";
    test_server.script("warns", script);
    let answer = test_server.call("warns", LIST).await.expect("a list");
    assert!(answer.resource_list.ends_with(b"severity: error\n"));
}

#[tokio::test]
async fn a_native_function_that_fails_is_reported_by_its_results() {
    let test_server = TestServer::new().await;
    let status = test_server
        .call("fails", LIST)
        .await
        .expect_err("a failure");
    assert_eq!(status.code(), Code::Internal);
    assert_eq!(
        status.message(),
        "failed to evaluate function \"fails\" with structured results: [error]: no and stderr: said"
    );
    let failure = failure::from_status(&status).expect("details");
    assert_eq!(failure.results, "- message: no\n  severity: error\n");
}

#[tokio::test]
async fn a_function_that_no_evaluator_knows_is_not_found() {
    let test_server = TestServer::new().await;
    let status = test_server
        .call("nope", LIST)
        .await
        .expect_err("no function");
    assert_eq!(status.code(), Code::NotFound);
    assert_eq!(
        status.message(),
        "function \"nope\" not found; evaluators asked: native, exec"
    );
}

#[tokio::test]
async fn a_malformed_list_is_the_callers_error() {
    let test_server = TestServer::new().await;
    test_server.script("cat", "exec cat");
    let large = format!("{LIST}  data: {{a: \"{}\"}}\n  b: [\n", "x".repeat(100_000));
    for image in ["cat", "tree", "fails"] {
        for list in ["a: [", "a: b\n", "\u{1}", &large] {
            let status = test_server.call(image, list.to_owned()).await;
            // This function ignores its input.
            if image == "tree" && list == large {
                continue;
            }
            let status = status.expect_err("no list");
            assert_eq!(status.code(), Code::InvalidArgument, "{image}: {status:?}");
            let start = "cannot read the resource list: ";
            assert!(status.message().starts_with(start), "{}", status.message());
        }
        let status = test_server
            .call(image, &b"\xff"[..])
            .await
            .expect_err("no text");
        assert_eq!(status.code(), Code::InvalidArgument);
    }
}

#[tokio::test]
async fn infrastructure_is_unavailable_and_a_panic_affects_one_call() {
    let test_server = TestServer::new().await;
    let status = test_server
        .call("broken", LIST)
        .await
        .expect_err("no machine");
    assert_eq!(status.code(), Code::Unavailable);
    assert_eq!(
        status.message(),
        "cannot run function \"broken\": the machine is on fire"
    );
    let status = test_server.call("panics", LIST).await.expect_err("a panic");
    assert_eq!(status.code(), Code::Internal);
    test_server.call("tree", LIST).await.expect("a list");
}

#[tokio::test]
async fn many_calls_at_once_get_their_own_answers() {
    let test_server = TestServer::new().await;
    test_server.script("cat", "exec cat");
    let client = test_server.client().await;
    let calls: Vec<_> = (0..200)
        .map(|number| {
            let mut client = client.clone();
            let list = LIST.replace("name: a", &format!("name: n{number}"));
            let image = if number % 2 == 0 { "cat" } else { "tree" };
            tokio::spawn(async move {
                let answer = client.evaluate_function(request(image, list)).await;
                (number, answer)
            })
        })
        .collect();
    for call in calls {
        let (number, answer) = call.await.expect("a call");
        let answer = answer.expect("a list").into_inner();
        let text = String::from_utf8_lossy(&answer.resource_list).into_owned();
        assert!(
            text.contains(&format!("name: n{number}\n")),
            "{number}: {text}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_would_lose_resources_is_a_failure() {
    const HEAD: &str = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n";
    let large = format!(
        "{HEAD}functionConfig:\n  a: {}\nitems:\n",
        "b".repeat(100_000)
    );
    let cases = [
        ("nothing", "", "expected exactly one object, got 0"),
        ("blank", "\n", "expected exactly one object, got 0"),
        (
            "comment",
            "# nothing\n",
            "expected exactly one object, got 0",
        ),
        (
            "null",
            &format!("{HEAD}items:\n"),
            "was *internal.scalarVariant",
        ),
        (
            "map",
            &format!("{HEAD}items: {{}}\n"),
            "was *internal.MapVariant",
        ),
        (
            "hole",
            &format!("{HEAD}items:\n-\n"),
            "unhandled node kind 8",
        ),
        ("large", &large, "was *internal.scalarVariant"),
    ];
    for words in [Words::Wrapper, Words::Runner] {
        let test_server = TestServer::with(Options::default(), words).await;
        for (image, answer, reason) in &cases {
            test_server.script(image, &format!("cat <<'END'\n{answer}END\necho why >&2"));
            let status = test_server.call(image, LIST).await.expect_err("a failure");
            assert_eq!(status.code(), Code::Internal, "{image}");
            let start =
                format!("failed to parse the output of function {image:?} with stderr 'why\n': ");
            let message = status.message();
            assert!(
                message.starts_with(&start) && message.ends_with(reason),
                "{message}"
            );
        }
        test_server.script(
            "empties",
            &format!("printf '{}items: []\\n'", HEAD.replace('\n', "\\n")),
        );
        let answer = test_server.call("empties", LIST).await.expect("a list");
        assert!(answer.resource_list.ends_with(b"items: []\n"));
    }
}
