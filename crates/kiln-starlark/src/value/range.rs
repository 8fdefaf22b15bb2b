//! Ranges: the result of `range`.

use super::{Repr, Value};

#[derive(Clone, Debug)]
pub(crate) struct Range {
    pub(crate) start: i64,
    pub(crate) stop: i64,
    /// Never zero.
    pub(crate) step: i64,
    pub(crate) length: usize,
}

impl Range {
    pub(crate) fn new(start: i64, stop: i64, step: i64) -> Range {
        let span = if step > 0 {
            i128::from(stop) - i128::from(start)
        } else {
            i128::from(start) - i128::from(stop)
        };
        let size = i128::from(step).abs().max(1);
        let length = if span > 0 { (span - 1) / size + 1 } else { 0 };
        Range {
            start,
            stop,
            step,
            length: usize::try_from(length).unwrap_or(usize::MAX),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Value {
        let index = i64::try_from(index).unwrap_or(i64::MAX);
        Value::from(self.start.wrapping_add(index.wrapping_mul(self.step)))
    }

    pub(crate) fn slice(&self, start: i64, end: i64, step: i64) -> Range {
        let at = |index: i64| self.start.wrapping_add(self.step.wrapping_mul(index));
        let step = self.step.wrapping_mul(step);
        Range::new(at(start), at(end), if step == 0 { 1 } else { step })
    }

    /// Whether both are the same sequence.
    pub(super) fn same_as(&self, other: &Range) -> bool {
        self.length == other.length
            && (self.length == 0 || self.start == other.start)
            && (self.length <= 1 || self.step == other.step)
    }

    pub(crate) fn contains(&self, int: &Value) -> bool {
        let Repr::Int(int) = int.0 else {
            return false;
        };
        if i32::try_from(int).is_err() {
            return false;
        }
        let distance = i128::from(int) - i128::from(self.start);
        let step = i128::from(self.step);
        let steps = distance / step;
        distance % step == 0 && steps >= 0 && steps < self.length as i128
    }

    pub(super) fn shown(&self) -> String {
        let Range {
            start, stop, step, ..
        } = self;
        match (start, step) {
            (0, 1) => format!("range({stop})"),
            (_, 1) => format!("range({start}, {stop})"),
            _ => format!("range({start}, {stop}, {step})"),
        }
    }
}
