//! Tests of the rules for conditions.

use jiff::Timestamp;

use super::{
    Condition, MAX_MESSAGE, Status, condition, is_ready, ready, ready_condition, restart_condition, set_condition,
    set_condition_by_reason, whole_seconds,
};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn waiting(reason: &str, second: i64) -> Condition {
    ready_condition(Status::False, reason, "text", Some(1), at(second))
}

fn since(conditions: &[Condition]) -> i64 {
    ready(conditions).unwrap().last_transition_time.0.as_second()
}

#[test]
fn the_first_ready_condition_counts() {
    let mut conditions = vec![waiting("A", 1), ready_condition(Status::True, "B", "", None, at(2))];
    conditions.insert(0, condition("Other", Status::True, "C", "", None, at(3)));
    assert_eq!(ready(&conditions).unwrap().reason, "A");
    assert!(!is_ready(&conditions));
    assert!(!is_ready(&[]));
}

#[test]
fn the_time_moves_with_the_status() {
    let mut conditions = vec![waiting("A", 1)];
    assert!(set_condition(&mut conditions, waiting("B", 2)));
    assert_eq!((since(&conditions), conditions[0].reason.as_str()), (1, "B"));
    assert!(set_condition(&mut conditions, ready_condition(Status::True, "B", "text", Some(1), at(3))));
    assert_eq!(since(&conditions), 3);
}

#[test]
fn the_time_moves_with_the_reason_where_it_reports_since_when() {
    let mut conditions = vec![waiting("A", 1)];
    assert!(set_condition_by_reason(&mut conditions, waiting("B", 2)));
    assert_eq!(since(&conditions), 2);
    let other_text = Condition { message: "other".to_owned(), ..waiting("B", 3) };
    assert!(set_condition_by_reason(&mut conditions, other_text));
    assert_eq!(since(&conditions), 2);
}

#[test]
fn a_restart_moves_the_time_always() {
    let mut conditions = vec![waiting("A", 1)];
    assert!(restart_condition(&mut conditions, waiting("A", 2)));
    assert_eq!(since(&conditions), 2);
}

#[test]
fn nothing_but_time_is_no_reason_to_write() {
    let mut conditions = vec![waiting("A", 1)];
    assert!(!set_condition(&mut conditions, waiting("A", 2)));
    assert!(!set_condition_by_reason(&mut conditions, waiting("A", 2)));
    assert_eq!(since(&conditions), 1);
}

#[test]
fn one_condition_of_a_type_is_left_and_others_stay() {
    let other = condition("Other", Status::True, "C", "", None, at(0));
    let mut conditions = vec![waiting("A", 1), other.clone(), waiting("B", 2)];
    assert!(set_condition(&mut conditions, waiting("A", 9)), "the second condition is removed");
    assert_eq!(conditions, [waiting("A", 1), other]);
}

#[test]
fn a_long_message_is_cut_between_characters() {
    let message = ready_condition(Status::False, "A", &"é".repeat(20_000), None, at(0)).message;
    assert_eq!(message.len(), MAX_MESSAGE);
    let message = ready_condition(Status::False, "A", &format!("x{}", "é".repeat(20_000)), None, at(0)).message;
    assert_eq!(message.len(), MAX_MESSAGE - 1);
}

#[test]
fn times_have_no_fraction_of_a_second() {
    let now: Timestamp = "2026-03-01T08:00:00.9Z".parse().unwrap();
    assert_eq!(whole_seconds(now).0, "2026-03-01T08:00:00Z".parse().unwrap());
}
