//! What is said of pods that cannot be called.

use std::future::pending;
use std::net::TcpListener;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::{CONNECT_TIMEOUT, FIRST_ATTEMPTS, PATIENCE, dial, until_connected};
use crate::address::Place;
use crate::scripted_pod::place_at;

#[tokio::test(start_paused = true)]
async fn a_place_where_nobody_is_is_given_up_and_the_reason_told() {
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let told = Mutex::new(Vec::new());
    let place = place_at(&address);
    let dialled = dial(&place, 1 << 20, |error| {
        told.lock().unwrap().push(error.to_owned());
    });
    let error = dialled.await.expect_err("nobody");
    assert!(error.contains("Connection refused"), "{error}");
    let told = told.into_inner().unwrap();
    assert!(told.len() > 1, "{told:?}");
    assert!(told.iter().all(|told| *told == error), "{told:?}");
}

#[tokio::test]
async fn what_is_no_address_is_told() {
    let dialled = dial(&place_at("not a host"), 1 << 20, |_| ()).await;
    assert!(dialled.is_err());
}

#[tokio::test]
async fn a_name_that_nobody_knows_does_not_keep_calls_from_the_address() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = Place {
        without_dns: Some(listener.local_addr().unwrap().to_string()),
        ..place_at("there-is-no-such-name.invalid:9446")
    };
    dial(&place, 1 << 20, |_| ()).await.unwrap();
}

/// How long it takes to connect, and in how many attempts, where attempts get through that begin after a while.
async fn connect(works_after: Duration) -> (Duration, usize) {
    let began = Instant::now();
    let lost = Mutex::new(0);
    let connected = until_connected(
        |_| *lost.lock().unwrap() += 1,
        || async {
            if began.elapsed() < works_after {
                pending::<()>().await;
            }
            Ok(())
        },
    );
    connected.await.unwrap();
    (began.elapsed(), lost.into_inner().unwrap() + 1)
}

#[tokio::test(start_paused = true)]
async fn attempts_that_got_lost_are_given_up_soon() {
    let (took, attempts) = connect(Duration::from_millis(150)).await;
    assert_eq!((took, attempts), (FIRST_ATTEMPTS * 2, 3));
}

#[tokio::test(start_paused = true)]
async fn attempts_get_as_long_as_a_slow_network_needs() {
    let lost = PATIENCE - CONNECT_TIMEOUT;
    let (took, attempts) = connect(lost).await;
    assert!(took < lost + CONNECT_TIMEOUT, "{took:?}");
    assert!(attempts < 20, "{attempts}");
}
