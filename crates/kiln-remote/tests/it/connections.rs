//! One connection for all calls, made when it is needed and again when it is lost.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use kiln_remote::{RemoteEvaluator, RemoteOptions};
use kiln_runtime::{CancelToken, Deadline, RunContext, RunError};

use crate::server::{TestServer, echo, run};

/// An address without a listener.
fn deserted() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

fn evaluator_for(address: &str, retry_timeout: Duration) -> RemoteEvaluator {
    let mut options = RemoteOptions::new(address.parse().unwrap());
    options.retry_timeout = retry_timeout;
    RemoteEvaluator::new(options).unwrap()
}

#[test]
fn calls_from_many_threads_share_one_connection() {
    let server = TestServer::start(echo);
    let evaluator = server.evaluator();
    assert_eq!(server.connections.load(Ordering::SeqCst), 0);
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..5 {
                    run(&evaluator, &RunContext::default()).unwrap();
                }
            });
        }
    });
    assert_eq!(server.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn a_closed_port_is_reported_in_gos_words() {
    let address = deserted();
    let evaluator = evaluator_for(&address, Duration::ZERO);
    let error = run(&evaluator, &RunContext::default()).unwrap_err();
    assert!(matches!(error, RunError::Remote(_)), "{error:?}");
    let expected = format!(
        "func eval \"example.com/fn:v1\" failed: rpc error: code = Unavailable desc = connection error: desc = \
         \"transport: Error while dialing: dial tcp {address}: "
    );
    assert!(error.to_string().starts_with(&expected), "{error}");
}

#[test]
fn a_runner_that_comes_late_is_waited_for() {
    let address = deserted();
    let evaluator = evaluator_for(&address, Duration::from_secs(600));
    std::thread::scope(|scope| {
        let call = scope.spawn(|| run(&evaluator, &RunContext::default()));
        let server = TestServer::serve(&address, Arc::new(echo), None, None);
        assert!(call.join().unwrap().is_ok());
        drop(server);
    });
}

#[test]
fn a_runner_that_was_restarted_is_found_again() {
    let first = TestServer::start(echo);
    let address = first.address.to_string();
    let evaluator = evaluator_for(&address, Duration::from_secs(600));
    run(&evaluator, &RunContext::default()).unwrap();
    drop(first);
    // Calls that were running when it ended may fail; later ones must not.
    let second = TestServer::serve(&address, Arc::new(echo), None, None);
    let answered = (0..3).any(|_| run(&evaluator, &RunContext::default()).is_ok());
    assert!(answered);
    run(&evaluator, &RunContext::default()).unwrap();
    assert_eq!(second.connections.load(Ordering::SeqCst), 1);
}

#[test]
fn waiting_for_a_connection_ends_with_the_time_and_with_the_caller() {
    let evaluator = evaluator_for(&deserted(), Duration::from_secs(600));
    let ctx = RunContext {
        deadline: Deadline::after(Duration::from_millis(200)),
        ..RunContext::default()
    };
    let ended = run(&evaluator, &ctx);
    assert!(matches!(ended, Err(RunError::TimedOut { .. })), "{ended:?}");

    let cancel = CancelToken::new();
    let ctx = RunContext {
        cancel: cancel.clone(),
        ..RunContext::default()
    };
    std::thread::scope(|scope| {
        let call = scope.spawn(|| run(&evaluator, &ctx));
        cancel.cancel();
        let ended = call.join().unwrap();
        assert!(matches!(ended, Err(RunError::Cancelled)), "{ended:?}");
    });
}
