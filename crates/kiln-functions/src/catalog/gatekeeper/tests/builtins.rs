//! The functions that policies can call: none reads a clock, a file or the network, and random ones are known.

use regorus::unstable::BUILTINS;

use super::*;
use crate::catalog::gatekeeper::builtins::is_random;

/// The functions of the engine. Before you add a name, check that its value depends on its arguments only, or that
/// [`is_random`] knows it: results of policies are kept.
const ENGINE: &str = "
    __builtin_sets.intersection __builtin_sets.union abs array.concat array.reverse array.slice base64.decode base64.encode
    base64.is_valid base64url.decode base64url.encode base64url.encode_no_pad bits.and bits.lsh bits.negate bits.or bits.rsh
    bits.xor ceil concat contains count endswith floor format_int glob.match glob.quote_meta graph.reachable
    graph.reachable_paths hex.decode hex.encode indexof indexof_n intersection is_array is_boolean is_null is_number
    is_object is_set is_string json.filter json.is_valid json.marshal json.marshal_with_options json.remove json.unmarshal
    lower max min net.cidr_contains net.cidr_expand net.cidr_is_valid numbers.range numbers.range_step object.filter
    object.get object.keys object.remove object.subset object.union object.union_n product rand.intn
    regex.find_all_string_submatch_n regex.find_n regex.is_valid regex.match regex.replace regex.split regex.template_match
    replace round semver.compare semver.is_valid sort split sprintf startswith strings.any_prefix_match
    strings.any_suffix_match strings.count strings.replace_n strings.reverse substring sum to_number trace trim trim_left
    trim_prefix trim_right trim_space trim_suffix type_name union units.parse units.parse_bytes upper walk
";

#[test]
fn the_functions_of_the_engine_are_known() {
    let mut names: Vec<&str> = BUILTINS.keys().copied().collect();
    names.sort_unstable();
    let expected: Vec<&str> = ENGINE.split_whitespace().collect();
    assert_eq!(names, expected);
    names.retain(|name| is_random(name));
    assert_eq!(names, ["rand.intn"]);
}

#[test]
fn policies_that_may_be_random_say_so() {
    let draws = |condition: &str| {
        let rego = format!(
            "package foo\n      pick(n) = x {{ x := rand.intn(\"a\", n) }}\n      violation[{{\"msg\": \"x\"}}] {{\n        \
             {condition}\n      }}"
        );
        run(&[&template(&rego), &constraint("{}"), THING].concat())
    };
    // Even if the function is not called: which rules apply may be random as well.
    assert!(draws("false").is_random);
    let called = draws("rand.intn(\"x\", 1) == 0");
    assert!(called.is_random && called.exit_code == 1, "{called:?}");
    let plain = run(&[&template(REGO), &constraint("{}"), THING].concat());
    assert!(!plain.is_random);
}
