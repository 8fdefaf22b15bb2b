//! Inputs are determined by their seed and varied, and generating them does not panic.

use std::collections::HashSet;

use super::mutate::Mutator;
use super::random::Random;

fn inputs(seeds: std::ops::Range<u64>) -> Vec<Vec<u8>> {
    let base = [
        &b"a: 1\nb:\n- c # d\n"[..],
        b"",
        b"\xff\xfe",
        b"a: |\n  b\n",
    ];
    let mutator = Mutator::new(base.iter().map(|seed| seed.to_vec()).collect());
    seeds
        .map(|seed| mutator.input(&mut Random::new(seed)))
        .collect()
}

#[test]
fn same_seed_same_input() {
    assert_eq!(inputs(0..500), inputs(0..500));
    assert_eq!(inputs(250..500), inputs(0..500)[250..]);
}

#[test]
fn inputs_differ() {
    let distinct: HashSet<Vec<u8>> = inputs(0..2000).into_iter().collect();
    assert!(distinct.len() > 1200, "{}", distinct.len());
}
