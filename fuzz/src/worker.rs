//! What worker processes send.

use std::io;

use kiln_server::fuzzing::receive_from_worker;
use tokio::io::AsyncWriteExt as _;

use crate::bounded;

/// How large a list may be, by the first byte.
const MAX_LISTS: [usize; 4] = [0, 100, 4 << 20, usize::MAX];

/// Buffers besides what has arrived.
const BUFFERS: usize = 1 << 20;

/// No frames make the service panic or take memory for what has not arrived. How much arrives at once changes nothing.
///
/// The first byte chooses the limit, the second the size of pieces, and the rest is what the worker sends.
pub fn worker_frames(input: &[u8]) {
    let [limit, piece, frames @ ..] = input else {
        return;
    };
    let max_list = MAX_LISTS[usize::from(*limit) % MAX_LISTS.len()];
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    let runtime = runtime.expect("a runtime");
    bounded::run(BUFFERS + 64 * frames.len(), || {
        let receive = async |piece: usize| {
            let (mut worker, service) = tokio::io::duplex(piece);
            let send = async move { worker.write_all(frames).await };
            let (received, _) = tokio::join!(receive_from_worker(service, max_list), send);
            received
        };
        let (count, error) = runtime.block_on(receive(1 << 20));
        let (again, same) = runtime.block_on(receive(1 + usize::from(*piece)));
        assert_eq!((count, error.kind()), (again, same.kind()));
        let kinds = [io::ErrorKind::UnexpectedEof, io::ErrorKind::InvalidData];
        assert!(kinds.contains(&error.kind()), "{error}");
    });
}
