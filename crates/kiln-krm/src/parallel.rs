//! Mapping a list on several threads, with the result of mapping it in sequence.
//!
//! Threads take the next item from a common counter, so that a large one delays only its own thread. The caller sets the
//! number of threads.

use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The least number of items for another thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Worth {
    /// Files, which may hold many resources.
    Files = 2,
    Resources = 16,
}

/// Maps each item, in order. Of several failures the first by index is returned.
pub fn try_map<T: Send, R: Send, E: Send>(
    items: Vec<T>,
    threads: NonZeroUsize,
    worth: Worth,
    work: impl Fn(T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let threads = threads.get().min(items.len() / worth as usize);
    if threads < 2 {
        return items.into_iter().map(work).collect();
    }
    let items: Vec<Mutex<Option<T>>> = items
        .into_iter()
        .map(|item| Mutex::new(Some(item)))
        .collect();
    let next = AtomicUsize::new(0);
    // The lowest index that failed. Items are taken in order, so that all before it are mapped.
    let failed_at = AtomicUsize::new(usize::MAX);
    let do_some = || {
        let mut done = Vec::with_capacity(items.len() / threads);
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            if place > failed_at.load(Ordering::Relaxed) {
                return done;
            }
            let Some(item) = items.get(place) else {
                return done;
            };
            let item = item.lock().unwrap_or_else(PoisonError::into_inner).take();
            let outcome = item.map(&work);
            if let Some(Err(_)) = outcome {
                failed_at.fetch_min(place, Ordering::Relaxed);
            }
            done.extend(outcome.map(|outcome| (place, outcome)));
        }
    };
    let mut all = Vec::with_capacity(items.len());
    thread::scope(|scope| {
        // If no more threads can be started, those that exist do the work.
        let others: Vec<_> = (1..threads)
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, do_some).ok())
            .collect();
        all.extend(do_some());
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
    });
    all.sort_unstable_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, outcome)| outcome).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: [usize; 4] = [1, 2, 3, 8];

    fn threads(count: usize) -> NonZeroUsize {
        NonZeroUsize::new(count).expect("not zero")
    }

    #[test]
    fn outcomes_come_in_order_on_any_number_of_threads() {
        for count in THREADS {
            let items: Vec<usize> = (0..500).collect();
            let doubled = try_map(items, threads(count), Worth::Resources, |item| {
                Ok::<_, ()>(item * 2)
            });
            assert_eq!(doubled, Ok((0..1000).step_by(2).collect()));
        }
    }

    #[test]
    fn the_first_failure_is_returned_on_any_number_of_threads() {
        for count in THREADS {
            for _ in 0..20 {
                let items: Vec<usize> = (0..400).collect();
                let outcome = try_map(items, threads(count), Worth::Resources, |item| match item {
                    130 | 131 | 250 | 399 => Err(item),
                    _ => Ok(()),
                });
                assert_eq!(outcome, Err(130));
            }
        }
    }

    #[test]
    fn a_panic_in_any_thread_is_the_callers() {
        let items: Vec<usize> = (0..400).collect();
        let outcome = std::panic::catch_unwind(|| {
            try_map(items, threads(4), Worth::Files, |item| match item {
                399 => panic!("the last one"),
                _ => Ok::<_, ()>(()),
            })
        });
        assert!(outcome.is_err());
    }
}
