//! Worked examples of splits, round by round, in GiB of memory and cores.

use super::super::free_capacity;
use super::*;
use crate::testing::gib;
use crate::units::{Bytes, Cores};

fn size((memory, cpu): (u64, i64)) -> Resources {
    Resources::new(gib(memory), Cores::new(cpu))
}

fn shown(amount: Resources) -> (i64, i64) {
    (amount.memory.mib_down() / 1024, amount.cpu.get())
}

fn group(name: &str, need: (u64, i64), candidates: &[usize]) -> SharingGroup {
    SharingGroup { name: name.into(), need: size(need), candidates: candidates.iter().copied().collect() }
}

fn hosts<const N: usize>(free: [(u64, i64); N]) -> Vec<Resources> {
    free.map(size).into()
}

/// A slot that was taken: the group, the host, and what is left on it.
type Shown<N> = (N, usize, (i64, i64));

/// Each slot that was taken, as the group, the host and what is left on it, by rounds.
fn rounds(groups: &[SharingGroup], free: &[Resources]) -> Vec<Vec<Shown<String>>> {
    let (mut sharing, mut left) = (Sharing::new(groups, free), free.to_vec());
    let mut rounds = Vec::new();
    let slots = |sharing: &Sharing<'_>| sharing.groups.iter().map(|group| group.slots).collect::<Vec<_>>();
    loop {
        let before = slots(&sharing);
        if !sharing.run_round() {
            return rounds;
        }
        let after = slots(&sharing);
        let takers = sharing.order.iter().copied().filter(|group| after[*group] > before[*group]);
        let take = |(group, place): (usize, &usize)| {
            let host = sharing.in_use.get(*place).host;
            left[host] -= groups[group].need;
            (groups[group].name.to_string(), host, shown(left[host]))
        };
        rounds.push(takers.zip(&sharing.taken[sharing.round..]).map(take).collect());
    }
}

fn named(rounds: &[&[Shown<&str>]]) -> Vec<Vec<Shown<String>>> {
    let taken = |(name, host, left): &Shown<&str>| ((*name).to_owned(), *host, *left);
    rounds.iter().map(|round| round.iter().map(taken).collect()).collect()
}

fn before(group: &SharingGroup, free: &[Resources]) -> (i64, i64) {
    shown(free_capacity(group.need, group.candidates.iter().map(|host| free[*host])))
}

fn left(split: &Split) -> Vec<(i64, i64)> {
    split.left.iter().copied().map(shown).collect()
}

#[test]
fn example_a_the_group_with_fewer_hosts_takes_first_and_the_other_fills_the_smallest_host() {
    let groups = [group("gp", (8, 2), &[0, 1, 2]), group("hana", (32, 8), &[0, 1])];
    let free = hosts([(64, 16), (40, 10), (24, 12)]);
    assert_eq!(
        rounds(&groups, &free),
        named(&[
            &[("hana", 0, (32, 8)), ("gp", 2, (16, 10))],
            &[("hana", 0, (0, 0)), ("gp", 2, (8, 8))],
            &[("hana", 1, (8, 2)), ("gp", 1, (0, 0))],
            &[("gp", 2, (0, 6))],
        ])
    );
    let split = split(&groups, &free);
    assert_eq!((split.slots.as_slice(), left(&split)), (&[4, 3][..], vec![(0, 0), (0, 0), (0, 6)]));
    assert_eq!((before(&groups[0], &free), before(&groups[1], &free)), ((128, 32), (96, 24)));
}

#[test]
fn example_b_cores_are_the_limit() {
    let groups = [group("memheavy", (16, 2), &[0]), group("cpuheavy", (4, 8), &[0])];
    let free = hosts([(64, 20)]);
    assert_eq!(
        rounds(&groups, &free),
        named(&[
            &[("memheavy", 0, (48, 18)), ("cpuheavy", 0, (44, 10))],
            &[("memheavy", 0, (28, 8)), ("cpuheavy", 0, (24, 0))],
        ])
    );
    let split = split(&groups, &free);
    assert_eq!((split.slots.as_slice(), left(&split)), (&[2, 2][..], vec![(24, 0)]));
    assert_eq!((before(&groups[0], &free), before(&groups[1], &free)), ((64, 8), (8, 16)));
}

#[test]
fn example_c_three_groups_share_two_hosts() {
    let groups = [group("a", (16, 4), &[0, 1]), group("b", (16, 4), &[1]), group("c", (8, 4), &[0, 1])];
    let free = hosts([(48, 12), (40, 16)]);
    assert_eq!(
        rounds(&groups, &free),
        named(&[
            &[("b", 1, (24, 12)), ("a", 0, (32, 8)), ("c", 1, (16, 8))],
            &[("b", 1, (0, 4)), ("a", 0, (16, 4)), ("c", 0, (8, 0))],
        ])
    );
    let split = split(&groups, &free);
    assert_eq!((split.slots.as_slice(), left(&split)), (&[2, 2, 2][..], vec![(8, 0), (0, 4)]));
    let before = groups.each_ref().map(|group| before(group, &free));
    assert_eq!(before, [(80, 20), (32, 8), (56, 28)]);
}

#[test]
fn example_d_the_host_with_the_smallest_remainder_is_filled_first() {
    let groups = [group("g", (12, 3), &[0, 1, 2])];
    let free = hosts([(30, 30), (24, 30), (25, 30)]);
    let order: Vec<usize> = rounds(&groups, &free).into_iter().flatten().map(|(_, host, _)| host).collect();
    assert_eq!(order, [1, 1, 2, 2, 0, 0]);
    let split = split(&groups, &free);
    assert_eq!((split.slots.as_slice(), left(&split)), (&[6][..], vec![(6, 24), (0, 24), (1, 24)]));
}

#[test]
fn example_e_a_host_with_too_few_cores_is_left_to_the_other_group() {
    let groups = [group("g", (100, 10), &[0, 1]), group("s", (30, 1), &[0])];
    let free = hosts([(130, 9), (250, 25)]);
    let split = split(&groups, &free);
    assert_eq!((split.slots.as_slice(), left(&split)), (&[2, 4][..], vec![(10, 5), (50, 5)]));
    assert_eq!(
        rounds(&groups, &free),
        named(&[
            &[("g", 1, (150, 15)), ("s", 0, (100, 8))],
            &[("g", 1, (50, 5)), ("s", 0, (70, 7))],
            &[("s", 0, (40, 6))],
            &[("s", 0, (10, 5))],
        ])
    );
}

#[test]
fn a_group_that_needs_nothing_or_has_no_host_gets_nothing() {
    let groups = [group("nothing", (0, 0), &[0]), group("nowhere", (1, 1), &[]), group("unknown", (1, 1), &[7])];
    let split = split(&groups, &hosts([(4, 4)]));
    assert_eq!((split.slots.as_slice(), left(&split)), (&[0, 0, 0][..], vec![(4, 4)]));
    assert_eq!(super::split(&[], &[]), Split::default());
}

#[test]
fn a_need_of_one_resource_is_limited_by_it_alone() {
    let groups = [group("cores", (0, 3), &[0, 1]), group("memory", (5, 0), &[0, 1])];
    let split = split(&groups, &hosts([(11, 7), (4, 2)]));
    assert_eq!((split.slots.as_slice(), left(&split)), (&[2, 2][..], vec![(1, 1), (4, 2)]));
}

#[test]
fn what_is_over_booked_counts_as_nothing_free() {
    let over_booked = Resources::new(Bytes::new(-5), Cores::new(9));
    let split = split(&[group("g", (1, 1), &[0])], &[over_booked]);
    assert_eq!((split.slots.as_slice(), left(&split)), (&[0][..], vec![(0, 9)]));
}

#[test]
fn equal_groups_take_in_the_order_of_their_names() {
    let groups = [group("b", (1, 1), &[0]), group("a", (1, 1), &[0])];
    assert_eq!(split(&groups, &hosts([(3, 3)])).slots, [1, 2]);
}
