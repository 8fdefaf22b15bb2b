//! Delays between attempts.

use std::io;
use std::time::{Duration, SystemTime};

use http::{HeaderMap, HeaderValue, StatusCode, header};

use super::{RetryPolicy, retry_after};
use crate::error::RegistryError;

fn busy(retry_after: Option<u64>) -> RegistryError {
    RegistryError::Status {
        url: String::new(),
        status: StatusCode::TOO_MANY_REQUESTS,
        message: String::new(),
        retry_after: retry_after.map(Duration::from_secs),
    }
}

#[test]
fn delays_grow_and_attempts_end() {
    let policy = RetryPolicy::default();
    for attempt in 1..5 {
        let whole = Duration::from_millis(200 << (attempt - 1));
        let delay = policy.delay_after(attempt, &busy(None)).unwrap();
        assert!(delay >= whole / 2 && delay <= whole, "{attempt}: {delay:?}");
    }
    assert_eq!(policy.delay_after(5, &busy(None)), None);
    let endless = RetryPolicy {
        attempts: u32::MAX,
        ..policy
    };
    let delay = endless.delay_after(1000, &busy(None)).unwrap();
    assert!(delay <= endless.max_delay);
}

#[test]
fn a_refused_connection_can_be_final() {
    let refused = unreachable(io::ErrorKind::ConnectionRefused);
    let policy = RetryPolicy::default();
    assert!(policy.delay_after(1, &refused).is_some());
    let policy = RetryPolicy {
        retries_refused: false,
        ..policy
    };
    assert_eq!(policy.delay_after(1, &refused), None);
    let lost = unreachable(io::ErrorKind::ConnectionReset);
    assert!(policy.delay_after(1, &lost).is_some());
}

#[test]
fn a_host_without_an_address_is_looked_up_twice() {
    let policy = RetryPolicy::default();
    let delay = |attempt, kind| policy.delay_after(attempt, &unreachable(kind));
    assert!(delay(1, io::ErrorKind::NotFound).is_some());
    assert_eq!(delay(2, io::ErrorKind::NotFound), None);
    assert!(delay(2, io::ErrorKind::TimedOut).is_some());
}

fn unreachable(kind: io::ErrorKind) -> RegistryError {
    RegistryError::Unreachable {
        url: String::new(),
        source: kind.into(),
    }
}

#[test]
fn retry_after_of_the_registry_is_respected() {
    let policy = RetryPolicy::default();
    let delay = |seconds| policy.delay_after(1, &busy(Some(seconds)));
    assert_eq!(delay(7), Some(Duration::from_secs(7)));
    assert_eq!(delay(0), Some(Duration::from_millis(200)));
    assert_eq!(delay(61), None);
    let missing = RegistryError::NotFound {
        subject: String::new(),
        message: String::new(),
    };
    assert_eq!(policy.delay_after(1, &missing), None);
}

#[test]
fn retry_after_is_seconds_or_a_date() {
    let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
    let read = |value: &'static str| {
        let mut headers = HeaderMap::new();
        headers.insert(header::RETRY_AFTER, HeaderValue::from_static(value));
        retry_after(&headers, now)
    };
    assert_eq!(read("12"), Some(Duration::from_secs(12)));
    let date = read("Sun, 06 Nov 1994 08:49:47 GMT");
    assert_eq!(date, Some(Duration::from_secs(10)));
    let past = read("Sun, 06 Nov 1994 08:49:27 GMT");
    assert_eq!(past, Some(Duration::ZERO));
    assert_eq!(read("soon"), None);
    assert_eq!(read("-1"), None);
}
