//! Messages that are compressed and decompressed, and such as do harm.

use std::convert::Infallible;

use super::*;

fn message(plain: &[u8]) -> Vec<u8> {
    with_head(PLAIN, [&[0; HEAD], plain].concat()).unwrap()
}

fn decompress_within(
    compressed: &[u8],
    limit: usize,
) -> Result<Bytes, DecompressError<Infallible>> {
    decompress(compressed, limit, |_| Ok(()))
}

#[test]
fn a_message_comes_back_up_to_the_limit() {
    let plain = message(&b"- kind: ConfigMap\n".repeat(10_000));
    let size = plain.len() - HEAD;
    let compressed = compress(&plain).unwrap();
    assert!(compressed.len() < plain.len() / 8);
    assert!(is_compressed(&compressed) && !is_compressed(&plain));
    assert_eq!(decompress_within(&compressed, size).unwrap(), plain);
    let error = decompress_within(&compressed, size - 1).unwrap_err();
    assert!(matches!(error, DecompressError::TooLarge { limit } if limit == size - 1));
}

#[test]
fn a_bomb_takes_no_more_memory_than_the_limit() {
    let bomb = compress(&message(&vec![0; 50 << 20])).unwrap();
    assert!(bomb.len() < 1 << 20, "{}", bomb.len());
    let mut charged = 0;
    let limit = 1 << 20;
    let error = decompress(&bomb, limit, |bytes| {
        charged = bytes;
        Ok::<_, Infallible>(())
    });
    assert!(matches!(error, Err(DecompressError::TooLarge { .. })));
    assert!(charged <= limit + HEAD, "{charged}");
}

#[test]
fn memory_that_is_refused_is_not_taken() {
    let compressed = compress(&message(&vec![b'x'; 1 << 20])).unwrap();
    let mut asked = Vec::new();
    let error = decompress(&compressed, 1 << 20, |bytes| {
        asked.push(bytes);
        match bytes {
            ..=100_000 => Ok(()),
            _ => Err("full"),
        }
    });
    assert!(matches!(error, Err(DecompressError::NoMemory("full"))));
    let (last, before) = asked.split_last().unwrap();
    assert!(*last > 100_000 && before.iter().all(|bytes| *bytes <= 100_000));
}

#[test]
fn what_is_not_gzip_is_refused() {
    for bytes in [&b"\x01\0\0\0\x04abcd"[..], b"\x01\0\0\0\0"] {
        let error = decompress_within(bytes, 100);
        assert!(
            matches!(error, Err(DecompressError::Invalid(_))),
            "{error:?}"
        );
    }
    let cut = compress(&message(&[b'x'; 1000])).unwrap();
    let error = decompress_within(&cut[..cut.len() - 9], 1000);
    assert!(
        matches!(error, Err(DecompressError::Invalid(_))),
        "{error:?}"
    );
}

#[test]
fn random_bytes_stay_as_they_are() {
    let mut state = 1_u64;
    let mut next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 56) as u8
    };
    let noise: Vec<u8> = (0..100_000).map(|_| next()).collect();
    assert_eq!(compress(&message(&noise)), None);
}

#[tokio::test]
async fn only_a_large_message_that_is_whole_is_compressed() {
    let large = message(&vec![b'x'; MIN_SIZE + 1]);
    let cases = [
        (large.clone(), true),
        (message(&vec![b'x'; MIN_SIZE]), false),
        ([large.clone(), large.clone()].concat(), false),
        (large[..MIN_SIZE].to_vec(), false),
    ];
    for (data, is_compressed) in cases {
        let size = data.len();
        let mut headers = HeaderMap::new();
        let data = FramesThenBody::body([Ok(Frame::data(data.into()))], Body::empty());
        let (body, compressed) = compress_body(&mut headers, data).await;
        assert_eq!(compressed.is_some(), is_compressed);
        assert_eq!(take_encoding(&mut headers), is_compressed);
        assert!(headers.is_empty());
        let sent = body.collect().await.unwrap().to_bytes().len();
        assert_eq!(sent, compressed.unwrap_or(size));
    }
}
