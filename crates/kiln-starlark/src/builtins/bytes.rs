//! Methods of bytes.

use std::rc::Rc;

use super::{Method, methods};
use crate::error::Failure;
use crate::eval::{Arguments, Context};
use crate::value::{Repr, Value, View, ViewKind};

pub(super) const METHODS: &[Method] = methods! {
    elems: elems,
};

fn elems(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(0, 0)?;
    let bytes = match &args.receiver.0 {
        Repr::Bytes(bytes) => Rc::clone(bytes),
        _ => Rc::from([]),
    };
    Ok(Value(Repr::View(Rc::new(View {
        bytes,
        kind: ViewKind::Bytes,
    }))))
}
