//! Connection attempts that fail or take long.

use std::future::pending;
use std::net::TcpListener;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::Instant;

use super::{CONNECT_DEADLINE, CONNECT_TIMEOUT, FIRST_ATTEMPTS, connect, until_connected};
use crate::connection::address::PodAddress;
use crate::testing::scripted_pod::address_at;

#[tokio::test(start_paused = true)]
async fn connecting_gives_up_and_reports_the_reason() {
    // A port that was free a moment ago.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let reported = Mutex::new(Vec::new());
    let address = address_at(&address);
    let connected = connect(&address, 1 << 20, |error| {
        reported.lock().unwrap().push(error.to_owned());
    });
    let error = connected.await.expect_err("no server listens");
    assert!(error.contains("Connection refused"), "{error}");
    let reported = reported.into_inner().unwrap();
    assert!(reported.len() > 1, "{reported:?}");
    assert!(
        reported.iter().all(|reported| *reported == error),
        "{reported:?}"
    );
}

#[tokio::test]
async fn an_invalid_address_is_an_error() {
    let connected = connect(&address_at("not a host"), 1 << 20, |_| ()).await;
    assert!(connected.is_err());
}

#[tokio::test]
async fn an_unresolvable_name_falls_back_to_the_address() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = PodAddress {
        fallback_host_port: Some(listener.local_addr().unwrap().to_string()),
        ..address_at("there-is-no-such-name.invalid:9446")
    };
    connect(&address, 1 << 20, |_| ()).await.unwrap();
}

/// The time and the number of attempts that connecting takes if attempts succeed from `works_after` on.
async fn time_to_connect(works_after: Duration) -> (Duration, usize) {
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
async fn first_attempts_time_out_soon() {
    let (took, attempts) = time_to_connect(Duration::from_millis(150)).await;
    assert_eq!((took, attempts), (FIRST_ATTEMPTS * 2, 3));
}

#[tokio::test(start_paused = true)]
async fn later_attempts_suffice_for_a_slow_network() {
    let lost = CONNECT_DEADLINE - CONNECT_TIMEOUT;
    let (took, attempts) = time_to_connect(lost).await;
    assert!(took < lost + CONNECT_TIMEOUT, "{took:?}");
    assert!(attempts < 20, "{attempts}");
}
