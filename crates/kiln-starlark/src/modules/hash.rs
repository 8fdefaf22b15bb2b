//! `hash.star`.

use md5::Digest;

use super::module as make_module;
use crate::error::Failure;
use crate::eval::{Arguments, Context, Want};
use crate::value::Value;

pub(super) fn module() -> Value {
    make_module(
        "hash",
        &[
            ("md5", "hash.md5", hash::<md5::Md5>),
            ("sha1", "hash.sha1", hash::<sha1::Sha1>),
            ("sha256", "hash.sha256", hash::<sha2::Sha256>),
        ],
    )
}

fn hash<D: Digest>(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.check(&[Want::String], 1)?;
    let text = args.text(0)?;
    ctx.charge(text.len() / 16)?;
    let digest = D::digest(text);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(Value::string(hex))
}
