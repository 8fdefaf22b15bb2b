//! What is said of pods that cannot be called.

use std::net::TcpListener;
use std::sync::Mutex;

use super::dial;
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
