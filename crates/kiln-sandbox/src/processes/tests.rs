//! Lines of `/proc/N/stat`.

use super::*;

#[test]
fn names_may_have_anything_in_them() {
    let stat = b"7 (a) R 1 (b) S 1 7 6 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 3 0 12345 1000 2 99\n";
    let process = parse(7, stat).unwrap();
    let expected = Process {
        id: 7,
        parent: 1,
        group: 7,
        session: 6,
        threads: 3,
        started: 12345,
    };
    assert_eq!(process, expected);
    assert_eq!(parse(7, b"7 (a) S 1"), None);
    assert_eq!(parse(7, b""), None);
}
