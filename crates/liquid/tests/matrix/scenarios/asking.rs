//! Clients ask at the same time, by another replica, or go away, and a zone is away.

use crate::served::{Requests, Way};
use crate::support::liquid::{Answer, Wanted};
use crate::support::*;

fn sale(uuid: &str, slots: u64) -> Wanted {
    vec![(uuid.to_owned(), Some(slots))]
}

fn deletion(uuid: &str) -> Wanted {
    vec![(uuid.to_owned(), None)]
}

/// What one commitment gives up, another one gets.
fn exchange() -> Wanted {
    [sale(NEW, 4), deletion(OLD)].concat()
}

fn direct(capacity: u64, wanted: fn() -> Vec<Wanted>, check: fn(&[Option<Answer>])) -> Requests {
    Requests { capacity, before: &[], wanted, way: Way::Direct, check }
}

fn assert_answers(found: &[Option<Answer>], expected: &[Answer]) {
    assert_eq!(found.iter().flatten().cloned().collect::<Vec<_>>(), expected);
}

/// The first one gets what it wants, and the second one what is left.
pub fn two_at_once() -> Vec<Requests> {
    vec![
        direct(
            4,
            || vec![sale(NEW, 3), sale(REST, 3)],
            |found| {
                assert_answers(found, &[Answer::Accepted, Answer::Rejected]);
            },
        ),
        direct(
            4,
            || vec![sale(NEW, 2), sale(REST, 2)],
            |found| {
                assert_answers(found, &[Answer::Accepted, Answer::Accepted]);
            },
        ),
        // What the first one deletes, the second one gets.
        Requests {
            before: &[(OLD, 4)],
            ..direct(
                4,
                || vec![deletion(OLD), sale(NEW, 4)],
                |found| {
                    assert_answers(found, &[Answer::Accepted, Answer::Accepted]);
                },
            )
        },
    ]
}

pub fn forwarded() -> Vec<Requests> {
    let mut all = vec![
        direct(4, || vec![sale(NEW, 4)], |found| assert_answers(found, &[Answer::Accepted])),
        direct(4, || vec![sale(NEW, 5)], |found| assert_answers(found, &[Answer::Rejected])),
    ];
    for requests in &mut all {
        requests.way = Way::Forwarded;
    }
    all
}

/// The client goes away before and after every write; another one asks at the same time.
pub fn client_gone_while_it_waits() -> Vec<Requests> {
    (0..20)
        .map(|writes| Requests {
            before: &[(OLD, 3)],
            way: Way::Abandoned(writes),
            ..direct(4, || vec![exchange(), sale(REST, 1)], |found| assert!(found[1].is_some(), "{found:?}"))
        })
        .collect()
}

/// Without the zone there is no verdict, and nothing is left of what was begun.
pub fn zone_cluster_away_while_clients_wait() -> Vec<Requests> {
    (0..10)
        .map(|writes| Requests {
            before: &[(OLD, 4)],
            way: Way::ZoneLost(writes),
            ..direct(
                4,
                || vec![exchange(), deletion(OLD)],
                |found| {
                    assert!(found.iter().all(|answer| *answer != Some(Answer::Rejected)), "{found:?}");
                },
            )
        })
        .collect()
}
