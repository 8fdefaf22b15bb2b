//! Steps in error numbers.

use std::io;

use super::{ConfineStep, STEPS};

#[test]
fn every_step_comes_back_with_its_error() {
    for step in STEPS {
        let error = io::Error::from_raw_os_error(libc::EPERM);
        let passed = step.done::<(), _>(Err(error)).unwrap_err();
        let (found, source) = ConfineStep::of(&passed).unwrap();
        assert_eq!(
            (found, source.raw_os_error()),
            (step, Some(libc::EPERM)),
            "{}",
            step.doing()
        );
    }
    let plain = io::Error::from_raw_os_error(libc::ENOENT);
    assert!(ConfineStep::of(&plain).is_none());
}
