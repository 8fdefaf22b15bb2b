//! A stable sort with the same comparisons as Go's.
//!
//! Which of several failing comparisons is reported depends on their order, and a program can define an order that is
//! not total, for which the standard library's sort may panic. Therefore: insertion sort of blocks, which are then
//! merged in place by rotation (Kim and Kutzner's SymMerge).

/// The size of the blocks for insertion sort.
const BLOCK: usize = 20;

/// Sorts. An order that is not total gives some permutation, never a panic.
pub fn stable_sort<T>(items: &mut [T], less: &mut dyn FnMut(&T, &T) -> bool) {
    for block in items.chunks_mut(BLOCK) {
        insertion_sort(block, less);
    }
    let length = items.len();
    let mut size = BLOCK;
    while size < length {
        for pair in items.chunks_mut(2 * size) {
            if pair.len() > size {
                merge(pair, size, less);
            }
        }
        size *= 2;
    }
}

fn insertion_sort<T>(items: &mut [T], less: &mut dyn FnMut(&T, &T) -> bool) {
    for end in 1..items.len() {
        let mut place = end;
        while place > 0 && less(&items[place], &items[place - 1]) {
            items.swap(place, place - 1);
            place -= 1;
        }
    }
}

/// Merges the two sorted parts that meet at `middle`.
fn merge<T>(items: &mut [T], middle: usize, less: &mut dyn FnMut(&T, &T) -> bool) {
    let length = items.len();
    if middle == 0 || middle == length {
        return;
    }
    if middle == 1 {
        // Insert the first: after all smaller elements.
        let (mut low, mut high) = (middle, length);
        while low < high {
            let probe = usize::midpoint(low, high);
            if less(&items[probe], &items[0]) {
                low = probe + 1;
            } else {
                high = probe;
            }
        }
        items[..low].rotate_left(1);
        return;
    }
    if length - middle == 1 {
        // Insert the last: before the first greater element.
        let (mut low, mut high) = (0, middle);
        while low < high {
            let probe = usize::midpoint(low, high);
            if less(&items[middle], &items[probe]) {
                high = probe;
            } else {
                low = probe + 1;
            }
        }
        items[low..=middle].rotate_right(1);
        return;
    }
    let half = length / 2;
    let sum = half + middle;
    let (mut start, mut bound) = if middle > half {
        (sum - length, half)
    } else {
        (0, middle)
    };
    let mirror = sum - 1;
    while start < bound {
        let probe = usize::midpoint(start, bound);
        if less(&items[mirror - probe], &items[probe]) {
            bound = probe;
        } else {
            start = probe + 1;
        }
    }
    let end = sum - start;
    if start < middle && middle < end {
        items[start..end].rotate_left(middle - start);
    }
    if 0 < start && start < half {
        merge(&mut items[..half], start, less);
    }
    if half < end && end < length {
        merge(&mut items[half..], end - half, less);
    }
}
