//! How long is waited.

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
fn waits_grow_and_end() {
    let policy = RetryPolicy::default();
    for attempt in 1..5 {
        let whole = Duration::from_millis(200 << (attempt - 1));
        let wait = policy.wait_after(attempt, &busy(None)).unwrap();
        assert!(wait >= whole / 2 && wait <= whole, "{attempt}: {wait:?}");
    }
    assert_eq!(policy.wait_after(5, &busy(None)), None);
    let patient = RetryPolicy {
        attempts: u32::MAX,
        ..policy
    };
    let wait = patient.wait_after(1000, &busy(None)).unwrap();
    assert!(wait <= patient.longest_wait);
}

#[test]
fn what_the_registry_asks_for_counts() {
    let policy = RetryPolicy::default();
    let wait = |seconds| policy.wait_after(1, &busy(Some(seconds)));
    assert_eq!(wait(7), Some(Duration::from_secs(7)));
    assert_eq!(wait(0), Some(Duration::from_millis(200)));
    assert_eq!(wait(61), None);
    let missing = RegistryError::NotFound {
        what: String::new(),
        message: String::new(),
    };
    assert_eq!(policy.wait_after(1, &missing), None);
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
