//! Calls: input of the function, responses, and ends.

use kiln_proto::failure::{MAX_ENCODED_MESSAGE, ROOM_METADATA, from_status};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use tonic::Code;

use crate::wrapper_process::{IMAGE, LIST, Wrapper, block_on, call, request, script};

#[test]
fn the_function_gets_the_list_and_answers() {
    let wrapper = Wrapper::start(&[], &script("echo talk >&2; cat"));
    let answer = wrapper.call(LIST).unwrap();
    assert_eq!(answer.resource_list, LIST.as_bytes());
    assert_eq!(answer.log.as_ref(), b"talk\n");
}

#[test]
fn words_after_the_dashes_are_passed_as_they_are() {
    let wrapper = Wrapper::start(
        &[],
        &[
            "/bin/sh",
            "-c",
            "cat; printf '%s|' \"$@\" >&2",
            "sh",
            "--port",
            "a b",
            "--",
        ],
    );
    let answer = wrapper.call(LIST).unwrap();
    assert_eq!(answer.log.as_ref(), b"--port|a b|--|");
}

#[test]
fn a_failed_function_is_reported_by_its_results() {
    let text = "cat; echo 'results:\n- message: bad port\n  severity: error\n- message: hm\n  severity: warning'; \
                echo why >&2; exit 3";
    let wrapper = Wrapper::start(&[], &script(text));
    let status = wrapper.call(LIST).unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    assert_eq!(
        status.message(),
        format!(
            "failed to evaluate function \"{IMAGE}\" with structured results: [error]: bad port\n\n[warning]: hm and stderr: why\n"
        )
    );
    let failure = from_status(&status).unwrap();
    assert_eq!(
        (failure.exit_code, failure.stderr.as_ref()),
        (3, &b"why\n"[..])
    );
    assert!(failure.output.starts_with(LIST.as_bytes()));
    let results = String::from_utf8(failure.results.to_vec()).unwrap();
    assert!(results.contains("- message: bad port\n"), "{results}");
}

#[test]
fn an_answer_that_is_not_a_list_is_reported_as_by_porch() {
    for exit in [0, 5] {
        let text = format!("echo 'kind: Nonsense'; echo why >&2; exit {exit}");
        let wrapper = Wrapper::start(&[], &script(&text));
        let status = wrapper.call(LIST).unwrap_err();
        let expected =
            format!("failed to parse the output of function \"{IMAGE}\" with stderr 'why\n': ");
        assert_eq!(status.code(), Code::Internal);
        assert!(
            status.message().starts_with(&expected),
            "{}",
            status.message()
        );
        assert_eq!(from_status(&status).unwrap().exit_code, exit);
    }
}

#[test]
fn an_answer_without_a_list_of_items_is_a_failure_as_in_porch() {
    const HEAD: &str = "apiVersion: config.kubernetes.io/v1\\nkind: ResourceList\\n";
    let cases = [
        (
            "true".to_owned(),
            "failed to parse input bytes: expected exactly one object, got 0",
        ),
        (
            "echo".to_owned(),
            "failed to parse input bytes: expected exactly one object, got 0",
        ),
        (
            "exit 5".to_owned(),
            "failed to parse input bytes: expected exactly one object, got 0",
        ),
        (
            format!("printf '{HEAD}items:\\n'"),
            "failed when tried to get items: incorrect type, was *internal.scalarVariant",
        ),
        (
            format!("printf '{HEAD}items: {{}}\\n'"),
            "failed when tried to get items: incorrect type, was *internal.MapVariant",
        ),
    ];
    for (text, reason) in cases {
        let wrapper = Wrapper::start(&[], &script(&text));
        let status = wrapper.call(LIST).unwrap_err();
        assert_eq!(status.code(), Code::Internal, "{text}");
        assert_eq!(
            status.message(),
            format!("failed to parse the output of function \"{IMAGE}\" with stderr '': {reason}")
        );
    }
    let wrapper = Wrapper::start(&[], &script(&format!("printf '{HEAD}items: []\\n'")));
    assert!(wrapper.call(LIST).is_ok());
}

#[test]
fn a_missing_entrypoint_is_reported_as_by_porch() {
    let wrapper = Wrapper::start(&[], &["/no/such/function"]);
    let status = wrapper.call(LIST).unwrap_err();
    assert_eq!(status.code(), Code::Internal);
    assert_eq!(
        status.message(),
        format!(
            "Failed to execute function \"{IMAGE}\": fork/exec /no/such/function: no such file or directory ()"
        )
    );
}

#[test]
fn error_results_of_a_function_that_succeeds_are_for_the_caller() {
    let text = "cat; echo 'results:\n- message: bad port\n  severity: error'";
    let wrapper = Wrapper::start(&[], &script(text));
    assert!(wrapper.call(LIST).is_ok());
    wrapper.wait_for_line("failed to evaluate function");
}

#[test]
fn calls_run_in_parallel() {
    // Each waits until the other has started.
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    let text = format!(
        "mkfifo {0} 2>/dev/null; if mkdir {0}.first 2>/dev/null; then echo > {0}; else read line < {0}; fi; cat",
        pipe.display()
    );
    let wrapper = Wrapper::start(&["--max-concurrent-evaluations=2"], &script(&text));
    block_on(async {
        let mut client = wrapper.client().await;
        let mut other = client.clone();
        let (one, two) = tokio::join!(call(&mut client, LIST), call(&mut other, LIST));
        assert!(one.is_ok() && two.is_ok(), "{one:?} {two:?}");
    });
}

#[test]
fn a_deadline_kills_the_function() {
    let directory = tempfile::tempdir().unwrap();
    let alive = directory.path().join("pid");
    let text = format!("echo $$ > {}; exec sleep 1000", alive.display());
    let wrapper = Wrapper::start(&[], &script(&text));
    let status = block_on(async {
        let mut request = request(LIST);
        request
            .metadata_mut()
            .insert("grpc-timeout", "700m".parse().unwrap());
        let mut client = wrapper.client().await;
        client.evaluate_function(request).await.unwrap_err()
    });
    // Whose clock is first does not matter.
    let codes = [Code::DeadlineExceeded, Code::Cancelled];
    assert!(codes.contains(&status.code()), "{status:?}");
    assert_eq!(
        wrapper.call("nonsense: [").unwrap_err().code(),
        Code::InvalidArgument
    );
    // A call that came later was answered, so the deadline has passed there too.
    wait_until_gone(&alive);
}

/// Waits for the end of a process whose number is in a file, if it came to write it.
fn wait_until_gone(file: &std::path::Path) {
    let Ok(pid) = std::fs::read_to_string(file) else {
        return;
    };
    let pid = pid.trim().parse().ok().and_then(Pid::from_raw).unwrap();
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else {
        return;
    };
    let mut ends = [PollFd::new(&process, PollFlags::IN)];
    poll(&mut ends, None).unwrap();
}

#[test]
fn messages_over_the_limit_name_it() {
    let wrapper = Wrapper::start(&["--max-request-body-size=1000"], &script("cat"));
    let large = format!("{LIST}# {}\n", "x".repeat(2000));
    let status = wrapper.call(&large).unwrap_err();
    assert_eq!(status.code(), Code::ResourceExhausted);
    assert!(
        status.message().contains("--max-request-body-size"),
        "{status:?}"
    );
    assert!(wrapper.call(LIST).is_ok());
}

#[test]
fn details_are_as_large_as_the_caller_takes_them() {
    let text = "cat; head -c 300000 /dev/zero | tr '\\0' e >&2; exit 1";
    let wrapper = Wrapper::start(&[], &script(text));
    let status = block_on(async {
        let mut request = request(LIST);
        request
            .metadata_mut()
            .insert(ROOM_METADATA, 1_000_000.into());
        wrapper
            .client()
            .await
            .evaluate_function(request)
            .await
            .unwrap_err()
    });
    assert_eq!(from_status(&status).unwrap().stderr.len(), 300_000);
    // A caller that announces no room gets both ends of the text, and no more than any client accepts.
    let small = wrapper.call(LIST).unwrap_err();
    assert!(small.message().len() <= MAX_ENCODED_MESSAGE, "{small:?}");
    assert!(small.message().contains("bytes omitted"), "{small:?}");
}

#[test]
fn running_calls_finish_after_a_signal() {
    let directory = tempfile::tempdir().unwrap();
    let pipe = directory.path().join("pipe");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let text = format!("echo begun >&2; read line < {}; cat", pipe.display());
    let wrapper = Wrapper::start(&[], &script(&text));
    let answer = block_on(async {
        let mut client = wrapper.client().await;
        let call = tokio::spawn(async move { call(&mut client, LIST).await });
        // Opens when the function reads.
        let path = pipe.clone();
        let opened = tokio::task::spawn_blocking(move || std::fs::File::create(path));
        let mut opened = opened.await.unwrap().unwrap();
        wrapper.signal(Signal::TERM);
        wrapper.wait_for_line("SIGTERM");
        std::io::Write::write_all(&mut opened, b"go\n").unwrap();
        call.await.unwrap()
    });
    assert!(answer.is_ok(), "{answer:?}");
    assert_eq!(wrapper.wait().code(), Some(0));
}

#[test]
fn verbosity_selects_what_is_logged() {
    let fails = script("cat; exit 1");
    let talkative = Wrapper::start(&["--verbosity=4"], &fails);
    talkative.call(LIST).unwrap_err();
    talkative.wait_for_line("Input Resource List: ");
    // A quiet one does not even log its port.
    let output = std::process::Command::new(crate::wrapper_process::WRAPPER)
        .args([
            "--port=1",
            "--verbosity=0",
            "--tls-cert=/none",
            "--tls-key=/none",
            "--",
            "cat",
        ])
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert_eq!(
        printed,
        "unexpected error: set up TLS: read /none: No such file or directory (os error 2)\n"
    );
}
