//! A bound on the memory that an input may cost.
//!
//! Every allocation of the process is counted. One that goes beyond the bound ends the process at once, so that libFuzzer
//! keeps the input and the stack shows what asked for the memory. The time of an input is bounded by libFuzzer's `-timeout`.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The system's allocator, with the bytes counted that are in use.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// Runs `work`, which may have `max_bytes` more in use at any moment than are in use now.
pub fn run<T>(max_bytes: usize, work: impl FnOnce() -> T) -> T {
    let limit = in_use().saturating_add(max_bytes);
    LIMIT.store(limit, Ordering::Relaxed);
    let result = work();
    LIMIT.store(usize::MAX, Ordering::Relaxed);
    result
}

/// How many bytes are in use now.
pub fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

fn count(size: usize) {
    let in_use = IN_USE.fetch_add(size, Ordering::Relaxed) + size;
    let limit = LIMIT.load(Ordering::Relaxed);
    if in_use > limit {
        // What follows allocates as well.
        LIMIT.store(usize::MAX, Ordering::Relaxed);
        eprintln!("{in_use} bytes are in use, {limit} are allowed; the last allocation has {size}");
        std::process::abort();
    }
}

fn discount(size: usize) {
    IN_USE.fetch_sub(size, Ordering::Relaxed);
}

// SAFETY: every call goes to the system's allocator as it came; counting touches none of the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as promised by the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: as promised by the caller.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        discount(layout.size());
        // SAFETY: as promised by the caller.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: as promised by the caller.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        discount(layout.size());
        moved
    }
}
