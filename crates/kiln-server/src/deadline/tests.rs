//! Timeouts that callers send.

use std::time::Duration;

use super::read;

#[test]
fn units_are_those_of_the_protocol() {
    assert_eq!(read("1H"), Some(Duration::from_secs(3600)));
    assert_eq!(read("2M"), Some(Duration::from_secs(120)));
    assert_eq!(read("3S"), Some(Duration::from_secs(3)));
    assert_eq!(read("99999999m"), Some(Duration::from_millis(99_999_999)));
    assert_eq!(read("5u"), Some(Duration::from_micros(5)));
    assert_eq!(read("6n"), Some(Duration::from_nanos(6)));
    assert_eq!(
        read("99999999H"),
        Some(Duration::from_secs(99_999_999 * 3600))
    );
}

#[test]
fn nothing_else_is_a_time() {
    for text in ["", "S", "1", "1s", "-1S", "1.5S", "123456789S", "1é", "+1S"] {
        assert_eq!(read(text), None, "{text:?}");
    }
}
