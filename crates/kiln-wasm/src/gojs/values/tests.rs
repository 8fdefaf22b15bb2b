//! References are counted, and what the host holds for a program is limited.

use super::*;

fn text(text: &str) -> JsValue {
    JsValue::Text(text.into())
}

#[test]
fn values_survive_the_way_to_the_program_and_back() {
    let mut values = GoValues::new(MemoryBudget::new(1 << 20));
    let object = JsValue::Object(values.add(JsKind::Plain, 0).unwrap());
    for value in [
        JsValue::Undefined,
        JsValue::Null,
        JsValue::Boolean(true),
        JsValue::Boolean(false),
        JsValue::Number(1.5),
        JsValue::Number(0.0),
        text("a"),
        object,
        JsValue::Object(values.global),
    ] {
        let bits = values.store(value.clone()).unwrap();
        assert_eq!(values.load(bits), value);
    }
    let nan = values.store(JsValue::Number(f64::NAN)).unwrap();
    assert!(matches!(values.load(nan), JsValue::Number(number) if number.is_nan()));
}

#[test]
fn equal_texts_have_one_reference_until_both_are_released() {
    let mut values = GoValues::new(MemoryBudget::new(1 << 20));
    let left = values.budget.left();
    let first = values.store(text("same")).unwrap();
    assert_eq!(values.store(text("same")).unwrap(), first);
    values.release(first as u32);
    assert_eq!(values.load(first), text("same"));
    values.release(first as u32);
    assert_eq!(values.load(first), JsValue::Undefined);
    assert_eq!(values.budget.left(), left);
    // A program that releases too often harms only itself.
    values.release(first as u32);
    values.release(u32::MAX);
    values.release(GLOBAL);
}

#[test]
fn an_element_that_is_set_again_is_counted_once() {
    let mut values = GoValues::new(MemoryBudget::new(1 << 20));
    let array = values.add_array(Vec::new()).unwrap();
    let bytes = values.add_bytes(10).unwrap();
    values.set_element(array, 0, text("first")).unwrap();
    let left = values.budget.left();
    for _ in 0..100_000 {
        values.set_element(array, 0, text("other")).unwrap();
        values.set_element(array, 7, text("beyond")).unwrap();
        values.set_element(bytes, 0, JsValue::Number(1.0)).unwrap();
    }
    assert_eq!(values.budget.left(), left);
    let items = values.object(array).map(|object| &object.kind);
    assert!(matches!(items, Some(JsKind::Array(items)) if *items == [text("other")]));
}

#[test]
fn released_objects_are_freed_unless_something_refers_to_them() {
    let mut values = GoValues::new(MemoryBudget::new(1 << 20));
    let left = values.budget.left();
    let id = values.add_bytes(1000).unwrap();
    let bits = values.store(JsValue::Object(id)).unwrap();
    values.release(bits as u32);
    assert!(values.object(id).is_none());
    assert_eq!(values.budget.left(), left);
    let id = values.add_bytes(1000).unwrap();
    let bits = values.store(JsValue::Object(id)).unwrap();
    values
        .set_property(values.global, "kept", JsValue::Object(id))
        .unwrap();
    values.release(bits as u32);
    assert!(values.object(id).is_some());
}

#[test]
fn a_program_cannot_make_the_host_hold_more_than_its_limit() {
    let mut values = GoValues::new(MemoryBudget::new(10_000));
    assert_eq!(values.add_bytes(u64::MAX), Err(Stop::OverMemory));
    assert_eq!(values.add_bytes(20_000), Err(Stop::OverMemory));
    let global = values.global;
    let fill = |values: &mut GoValues| -> Result<(), Stop> {
        for number in 0..1000 {
            values.set_property(global, &number.to_string(), JsValue::Null)?;
        }
        Ok(())
    };
    assert_eq!(fill(&mut values), Err(Stop::OverMemory));
    // One property that is set again and again takes no more each time.
    let mut values = GoValues::new(MemoryBudget::new(10_000));
    for number in 0..1000 {
        let value = JsValue::Number(f64::from(number));
        values.set_property(global, "same", value).unwrap();
    }
}
