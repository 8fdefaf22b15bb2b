//! The compiled filter, compared with its rules.

use std::collections::BTreeSet;

use super::*;

const REFUSE: u32 = libc::SECCOMP_RET_ERRNO | 1;
const MISS: u32 = libc::SECCOMP_RET_ERRNO | 38;

/// A call as the kernel shows it to a filter.
#[derive(Clone, Copy, Debug)]
struct Call {
    architecture: u32,
    number: u32,
    arguments: [u64; 6],
}

/// Interprets the filter like the kernel.
fn run(program: &[sock_filter], call: Call) -> u32 {
    let word = |offset: u32| match offset {
        NUMBER => call.number,
        ARCHITECTURE => call.architecture,
        _ => {
            let argument = call.arguments[((offset - ARGUMENTS) / 8) as usize];
            (argument >> (offset % 8 * 8)) as u32
        }
    };
    let (mut at, mut value) = (0, 0);
    loop {
        let instruction = &program[at];
        let branch = |is_true: bool| match is_true {
            true => usize::from(instruction.jt),
            false => usize::from(instruction.jf),
        };
        let skipped = match u32::from(instruction.code) {
            LOAD => {
                value = word(instruction.k);
                0
            }
            AND => {
                value &= instruction.k;
                0
            }
            JUMP => instruction.k as usize,
            EQUAL => branch(value == instruction.k),
            NOT_LESS => branch(value >= instruction.k),
            ANY_BIT => branch(value & instruction.k != 0),
            RETURN => return instruction.k,
            code => panic!("{code:#x} at {at}"),
        };
        at += 1 + skipped;
    }
}

/// The result by the rules.
fn expected(rules: &SyscallRules, newest: u32, call: Call) -> u32 {
    if call.architecture != OURS {
        return libc::SECCOMP_RET_KILL_PROCESS;
    }
    if call.number > newest {
        return MISS;
    }
    let of_call = rules.calls.get(&call.number).into_iter().flatten();
    let argument = |number: &u32| call.arguments[*number as usize];
    let low = |number: &u32| argument(number) as u32;
    let holds = |condition: &Condition| match condition {
        Condition::Is(number, value) => low(number) == *value,
        Condition::IsNot(number, value) => low(number) != *value,
        Condition::IsNoneOf(number, values) => !values.contains(&low(number)),
        Condition::HasBits(number, mask, value) => low(number) & mask == *value,
        Condition::HasAny(number, bits) => low(number) & bits != 0,
        Condition::WideIsNull(number) => argument(number) == 0,
        Condition::WideIsNot(number, value) => argument(number) != u64::from(*value),
    };
    let mut first = of_call.filter(|rule| rule.conditions.iter().all(holds));
    first.next().map_or(rules.otherwise, |rule| rule.answer)
}

fn check(rules: &SyscallRules, newest: u32) {
    let program = rules.compile(newest, MISS);
    assert!(program.len() <= 4096, "{}", program.len());
    let mut values: BTreeSet<u64> = [0, 1, u64::from(u32::MAX), 1 << 32, u64::MAX].into();
    for condition in rules
        .calls
        .values()
        .flatten()
        .flat_map(|rule| &rule.conditions)
    {
        let known: &[u32] = match condition {
            Condition::Is(_, value)
            | Condition::IsNot(_, value)
            | Condition::HasBits(_, _, value)
            | Condition::HasAny(_, value)
            | Condition::WideIsNot(_, value) => &[*value],
            Condition::IsNoneOf(_, values) => values,
            Condition::WideIsNull(_) => &[],
        };
        for value in known {
            let value = u64::from(*value);
            values.extend([value, value + 1, value | 1 << 32, value | 0x80]);
            values.extend(value.checked_sub(1));
        }
    }
    for number in (0..newest + 3).chain([0x4000_0000, u32::MAX]) {
        let has_conditions = rules.calls.get(&number).is_some_and(|rules| {
            let mut conditions = rules.iter().flat_map(|rule| &rule.conditions);
            conditions.next().is_some()
        });
        let values = values
            .iter()
            .take(if has_conditions { usize::MAX } else { 1 });
        for (first, second) in values
            .clone()
            .flat_map(|one| values.clone().map(move |two| (*one, *two)))
        {
            for architecture in [OURS, 0x4000_0003] {
                let call = Call {
                    architecture,
                    number,
                    arguments: [first, second, first, second, first, second],
                };
                assert_eq!(
                    run(&program, call),
                    expected(rules, newest, call),
                    "{call:x?}"
                );
            }
        }
    }
}

#[test]
fn the_program_gives_the_answers_of_the_rules() {
    let mut rules = SyscallRules::otherwise(ALLOW);
    check(&rules, 5);
    for number in [0, 1, 2, 5, 9] {
        rules.always(number, REFUSE);
    }
    rules.always(3, MISS);
    rules.when(7, vec![Condition::Is(0, 4), Condition::IsNot(1, 0)], REFUSE);
    rules.when(7, vec![Condition::HasBits(0, 0xf, 2)], MISS);
    rules.when(8, vec![Condition::WideIsNull(1)], MISS);
    rules.always(8, REFUSE);
    let other = Condition::IsNoneOf(0, vec![0, 1, 2, 7, 0xffff_ffff, 9]);
    rules.when(10, vec![other], REFUSE);
    rules.when(9, vec![Condition::HasAny(0, 0x84)], REFUSE);
    rules.when(12, vec![Condition::HasAny(0, 0x84)], REFUSE);
    let wide = vec![Condition::Is(0, 1), Condition::WideIsNot(1, 9)];
    rules.when(11, wide, REFUSE);
    check(&rules, 10);
    check(&rules, 12);
}

#[test]
fn ends_that_are_far_away_are_reached_as_well() {
    let mut rules = SyscallRules::otherwise(REFUSE);
    for number in 0..400 {
        match number % 4 {
            0 => rules.always(number, ALLOW),
            1 => rules.when(number, vec![Condition::Is(0, 1)], ALLOW),
            _ => {}
        }
    }
    let many = (0..300).map(|value| value * 3).collect();
    rules.when(200, vec![Condition::IsNoneOf(1, many)], MISS);
    check(&rules, 450);
}
