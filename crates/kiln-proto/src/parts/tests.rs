//! Parts that come back together, and parts that do not.

use super::*;

fn request(list: &[u8]) -> EvaluateFunctionRequest {
    EvaluateFunctionRequest {
        resource_list: Bytes::copy_from_slice(list),
        image: "set-labels:v1".to_owned(),
    }
}

fn part(content: Content) -> Part {
    Part {
        content: Some(content),
    }
}

fn data(data: &'static [u8]) -> Part {
    part(Content::Data(Bytes::from_static(data)))
}

fn head(list_size: u64, log_size: u64) -> Part {
    part(Content::Head(PartsHead {
        image: String::new(),
        list_size,
        log_size,
    }))
}

fn end(of: &[u8]) -> Part {
    let sha256 = ring::digest::digest(&SHA256, of);
    part(Content::End(PartsEnd {
        sha256: Bytes::copy_from_slice(sha256.as_ref()),
    }))
}

const LIMIT: usize = 4 * PART;

/// The request of parts that are complete.
fn join(parts: impl IntoIterator<Item = Part>) -> Result<EvaluateFunctionRequest, PartsError> {
    let mut buffer = PartsBuffer::new(LIMIT);
    for part in parts {
        match buffer.add(part, |_| Ok(())) {
            Ok(()) => {}
            Err(AddError::Invalid(error)) => return Err(error),
            Err(AddError::NoMemory(())) => unreachable!("memory is not limited"),
        }
    }
    buffer.into_request()
}

#[test]
fn a_list_of_any_size_comes_back() {
    for size in [0, 1, PART - 1, PART, PART + 1, 3 * PART + 7] {
        let request = request(&vec![b'x'; size]);
        let parts: Vec<Part> = Parts::of_request(request.clone()).collect();
        assert_eq!(parts.len(), 2 + size.div_ceil(PART), "{size}");
        assert!(join(parts) == Ok(request), "{size}");
    }
}

#[test]
fn the_log_of_an_answer_follows_the_list() {
    let answer = EvaluateFunctionResponse {
        resource_list: Bytes::from_static(b"list"),
        log: Bytes::from_static(b"log"),
    };
    let parts: Vec<Part> = Parts::of_answer(answer.clone()).collect();
    let pieces = ["list", "log"].map(|text| Some(Content::Data(Bytes::from(text))));
    assert_eq!(parts[1].content, pieces[0]);
    assert_eq!(parts[2].content, pieces[1]);
    let mut buffer = PartsBuffer::new(7);
    for part in parts {
        assert_eq!(buffer.add(part, |_| Ok::<_, ()>(())), Ok(()));
    }
    assert_eq!(buffer.into_answer(), Ok(answer));
}

#[test]
fn memory_is_charged_for_what_arrives() {
    let mut buffer = PartsBuffer::new(LIMIT);
    let mut charges = Vec::new();
    for part in Parts::of_request(request(&vec![b'x'; 3 * PART])).take(4) {
        let add = buffer.add(part, |bytes| {
            charges.push(bytes);
            Ok::<_, ()>(())
        });
        assert_eq!(add, Ok(()));
    }
    assert_eq!(charges, [2 * PART, 3 * PART]);

    let mut buffer = PartsBuffer::new(LIMIT);
    assert_eq!(buffer.add(head(3, 0), |_| Err("no room")), Ok(()));
    let no_memory = buffer.add(data(b"abc"), |_| Err("no room"));
    assert_eq!(no_memory, Err(AddError::NoMemory("no room")));
}

#[track_caller]
fn refused(parts: impl IntoIterator<Item = Part>, error: PartsError) {
    assert_eq!(join(parts), Err(error));
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let nothing = Part { content: None };
    refused([nothing.clone()], PartsError::Empty);
    refused([head(1, 0), nothing], PartsError::Empty);
    refused([], PartsError::Incomplete);
    refused([data(b"a")], PartsError::NoHead);
    refused([end(b"")], PartsError::NoHead);
    refused([head(1, 0), head(1, 0)], PartsError::SecondHead);
    refused([head(1, 0), data(b"ab")], PartsError::TooMuch);
    refused(
        [head(1, 1), data(b"ab"), data(b"c"), end(b"abc")],
        PartsError::TooMuch,
    );
    let too_large = |size| PartsError::TooLarge { size, limit: LIMIT };
    refused([head(LIMIT as u64, 1)], too_large(LIMIT + 1));
    refused([head(u64::MAX, 1)], too_large(usize::MAX));
    refused([head(2, 0), data(b"a"), end(b"a")], PartsError::Incomplete);
    refused([head(2, 0), data(b"ab")], PartsError::Incomplete);
    refused([head(2, 0), data(b"ab"), end(b"ba")], PartsError::Damaged);
    let no_hash = part(Content::End(PartsEnd::default()));
    refused([head(0, 0), no_hash], PartsError::Damaged);
    refused([head(0, 0), end(b""), end(b"")], PartsError::AfterEnd);
    refused([head(0, 0), end(b""), head(0, 0)], PartsError::AfterEnd);
}
