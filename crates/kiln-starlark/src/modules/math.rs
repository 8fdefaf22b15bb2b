//! `math.star`.

use crate::error::{Failure, fail};
use crate::eval::{Arguments, Context};
use crate::value::{Builtin, Module, NativeFn, Repr, Value, int, number_to_int};

pub(super) fn module() -> Value {
    let mut members: Vec<(String, Value)> = Vec::new();
    for (names, function) in [
        (UNARY, unary as NativeFn),
        (BINARY, binary as NativeFn),
        (&["ceil", "floor"], round_to_int),
        (&["log"], log),
    ] {
        let functions = names.iter();
        members.extend(functions.map(|name| {
            let function = Value::from(Builtin::new(name, function));
            ((*name).to_owned(), function)
        }));
    }
    members.push(("e".to_owned(), Value::from(std::f64::consts::E)));
    members.push(("pi".to_owned(), Value::from(std::f64::consts::PI)));
    Value::from(Module::new("math", members))
}

const UNARY: &[&str] = &[
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "degrees", "exp", "fabs",
    "gamma", "radians", "round", "sin", "sinh", "sqrt", "tan", "tanh",
];

const BINARY: &[&str] = &["atan2", "copysign", "hypot", "mod", "pow", "remainder"];

/// The argument at `place` as a float.
fn number(ctx: &Context<'_>, args: &Arguments<'_>, place: usize) -> Result<f64, Failure> {
    let value = args.value(place);
    match &value.0 {
        Repr::Float(float) => Ok(*float),
        Repr::Int(int) => Ok(*int as f64),
        Repr::Big(big) => Ok(
            crate::eval::to_float(ctx.usage, &value).unwrap_or_else(|_| {
                if **big < num_bigint::BigInt::ZERO {
                    f64::NEG_INFINITY
                } else {
                    f64::INFINITY
                }
            }),
        ),
        _ => {
            let got = value.type_name();
            args.fail(format!(
                "for parameter {}: got {got}, want float or int",
                place + 1
            ))
        }
    }
}

fn unary(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    let x = number(ctx, args, 0)?;
    Ok(Value::from(match args.name {
        "acos" => x.acos(),
        "acosh" => x.acosh(),
        "asin" => x.asin(),
        "asinh" => x.asinh(),
        "atan" => x.atan(),
        "atanh" => x.atanh(),
        "cos" => x.cos(),
        "cosh" => x.cosh(),
        "degrees" => 360.0 * x / (2.0 * std::f64::consts::PI),
        "exp" => x.exp(),
        "fabs" => x.abs(),
        "gamma" => gamma(x),
        "radians" => 2.0 * std::f64::consts::PI * x / 360.0,
        "round" => x.round(),
        "sin" => x.sin(),
        "sinh" => x.sinh(),
        "sqrt" => x.sqrt(),
        "tan" => x.tan(),
        _ => x.tanh(),
    }))
}

fn binary(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(2, 2)?;
    let (x, y) = (number(ctx, args, 0)?, number(ctx, args, 1)?);
    Ok(Value::from(match args.name {
        "atan2" => x.atan2(y),
        "copysign" => x.copysign(y),
        "hypot" => x.hypot(y),
        "mod" => x % y,
        "pow" => x.powf(y),
        _ => remainder(x, y),
    }))
}

/// The IEEE 754 remainder: to the nearest multiple, ties to even.
fn remainder(x: f64, y: f64) -> f64 {
    if x.is_nan() || y.is_nan() || x.is_infinite() || y == 0.0 {
        return f64::NAN;
    }
    if y.is_infinite() {
        return x;
    }
    let size = y.abs();
    let mut rest = x.abs();
    if size <= f64::MAX / 2.0 {
        rest %= size + size;
    }
    if rest + rest > size {
        rest -= size;
        if rest + rest >= size {
            rest -= size;
        }
    }
    if x.is_sign_negative() { -rest } else { rest }
}

/// The gamma function: exact factorials where floats are, Lanczos' approximation elsewhere.
fn gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x.is_nan() || x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if x == f64::INFINITY {
        return x;
    }
    if x == 0.0 {
        return f64::INFINITY.copysign(x);
    }
    if x.fract() == 0.0 {
        if x < 0.0 {
            return f64::NAN;
        }
        if x > 171.0 {
            return f64::INFINITY;
        }
        return (2..x as u32).fold(1.0, |product, factor| product * f64::from(factor));
    }
    if x < 0.5 {
        return std::f64::consts::PI / ((std::f64::consts::PI * x).sin() * gamma(1.0 - x));
    }
    let x = x - 1.0;
    let t = x + 7.5;
    let terms = COEFFICIENTS.iter().enumerate().skip(1);
    let series = terms.fold(COEFFICIENTS[0], |sum, (i, c)| sum + c / (x + i as f64));
    (2.0 * std::f64::consts::PI).sqrt() * t.powf(x + 0.5) * (-t).exp() * series
}

fn round_to_int(_: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 1)?;
    let value = args.value(0);
    match &value.0 {
        Repr::Int(_) | Repr::Big(_) => Ok(value),
        Repr::Float(float) if float.is_finite() => Ok(int::truncate(if args.name == "ceil" {
            float.ceil()
        } else {
            float.floor()
        })),
        Repr::Float(_) => number_to_int(&value),
        _ => fail(format!("got {}, want float or int", value.type_name())),
    }
}

fn log(ctx: &mut Context<'_>, args: &Arguments<'_>) -> Result<Value, Failure> {
    args.count(1, 2)?;
    let x = number(ctx, args, 0)?;
    let base = if args.get(1).is_some() {
        number(ctx, args, 1)?
    } else {
        std::f64::consts::E
    };
    if base == 1.0 {
        return fail("division by zero");
    }
    Ok(Value::from(x.ln() / base.ln()))
}
