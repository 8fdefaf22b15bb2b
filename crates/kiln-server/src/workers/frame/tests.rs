//! Frames that are complete, cut off, too large or invalid.

use bytes::BytesMut;

use super::{Lengths, PREFIX, ResponseHead, decode, encode, read, write};

fn head() -> ResponseHead {
    ResponseHead {
        exit_code: Some(-1),
        code: 13,
        message: "no".to_owned(),
        ..ResponseHead::default()
    }
}

#[test]
fn a_frame_that_arrives_in_pieces_is_the_frame_that_was_written() {
    let mut bytes = Vec::new();
    write(&mut bytes, &head(), b"a list").unwrap();
    for size in 0..PREFIX {
        assert_eq!(Lengths::decode(&bytes[..size], 100).unwrap(), None);
    }
    let lengths = Lengths::decode(&bytes, 100).unwrap().unwrap();
    assert_eq!(lengths.total(), bytes.len());
    let mut frame = BytesMut::from(bytes.as_slice());
    let (decoded, body): (ResponseHead, _) = decode(&mut frame, lengths).unwrap();
    assert_eq!((decoded, &body[..]), (head(), &b"a list"[..]));
    assert!(frame.is_empty());

    let (decoded, body) = read::<ResponseHead>(bytes.as_slice()).unwrap().unwrap();
    assert_eq!((decoded, &body[..]), (head(), &b"a list"[..]));
}

#[test]
fn a_frame_that_announces_too_much_is_refused() {
    let bytes = encode(&head(), 101);
    assert!(Lengths::decode(&bytes, 100).is_err());
    assert!(Lengths::decode(&[0xff; PREFIX], 100).is_err());
}

#[test]
fn the_end_of_the_stream_is_not_an_error_between_frames_only() {
    assert!(read::<ResponseHead>([].as_slice()).unwrap().is_none());
    let mut bytes = Vec::new();
    write(&mut bytes, &head(), b"a list").unwrap();
    bytes.pop();
    assert!(read::<ResponseHead>(bytes.as_slice()).is_err());
}

#[test]
fn bytes_that_are_not_a_message_are_an_error() {
    let mut bytes = vec![2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes.extend([0xff, 0xff]);
    assert!(read::<ResponseHead>(bytes.as_slice()).is_err());
}
