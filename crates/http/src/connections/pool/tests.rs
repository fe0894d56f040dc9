use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn peer(number: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, number])
}

fn pool(connections: usize, trusted: &[u8]) -> ConnectionPool {
    let trusted = trusted.iter().map(|number| peer(*number)).collect();
    ConnectionPool::new(PoolRules { connections, trusted, idle: 120 * SECOND })
}

fn admitted(pool: &mut ConnectionPool, from: u8, now: Instant) -> ConnectionId {
    match pool.admit(peer(from), now) {
        Admission::Admitted(id) => id,
        other => panic!("{other:?}"),
    }
}

/// A connection with a request.
fn busy(pool: &mut ConnectionPool, from: u8, now: Instant) -> ConnectionId {
    let id = admitted(pool, from, now);
    assert!(pool.begin_request(id));
    id
}

#[test]
fn the_longest_idle_connection_gives_way_at_the_limit() {
    let (mut pool, start) = (pool(4, &[]), Instant::now());
    let ids: Vec<ConnectionId> = (0..4).map(|n| admitted(&mut pool, n, start + u32::from(n) * SECOND)).collect();
    assert!(pool.begin_request(ids[0]));
    pool.end_request(ids[0], start + 9 * SECOND);
    assert!(pool.begin_request(ids[1]));
    let Admission::AdmittedInsteadOf(_, closed) = pool.admit(peer(5), start + 10 * SECOND) else { panic!() };
    assert_eq!(closed, ids[2]);
    assert!(!pool.begin_request(closed), "a closed connection handles no request");
    assert_eq!(pool.len(), 4);
}

#[test]
fn a_connection_above_the_limit_is_refused_when_none_is_idle() {
    let (mut pool, now) = (pool(4, &[]), Instant::now());
    let ids: Vec<ConnectionId> = (0..4).map(|n| busy(&mut pool, n, now)).collect();
    assert_eq!(pool.admit(peer(5), now), Admission::Refused(FullLimit::Connections));
    pool.remove(ids[0]);
    assert!(matches!(pool.admit(peer(5), now), Admission::Admitted(_)));
}

#[test]
fn a_connection_in_use_gives_way_only_to_a_peer_with_fewer_connections() {
    let (mut pool, now) = (pool(4, &[]), Instant::now());
    let behaves = admitted(&mut pool, 0, now);
    for from in [1, 1, 2] {
        busy(&mut pool, from, now);
    }
    let soon = now + IDLE_FOR_A_MOMENT / 2;
    assert_eq!(pool.admit(peer(1), soon), Admission::Refused(FullLimit::Connections));
    assert_eq!(pool.admit(peer(2), soon), Admission::Refused(FullLimit::Connections), "as many as the other one");
    assert!(pool.begin_request(behaves));
    pool.end_request(behaves, soon);
    let Admission::AdmittedInsteadOf(_, closed) = pool.admit(peer(1), soon + IDLE_FOR_A_MOMENT) else { panic!() };
    assert_eq!(closed, behaves, "it has been idle for a moment");
}

#[test]
fn of_a_peer_with_more_connections_even_one_in_use_gives_way() {
    let (mut pool, now) = (pool(4, &[]), Instant::now());
    busy(&mut pool, 0, now);
    let ids = [1, 1, 1].map(|from| admitted(&mut pool, from, now));
    assert!(matches!(pool.admit(peer(0), now), Admission::AdmittedInsteadOf(_, closed) if closed == ids[0]));
    assert!(matches!(pool.admit(peer(2), now), Admission::AdmittedInsteadOf(_, closed) if closed == ids[1]));
}

#[test]
fn a_peer_gets_a_quarter_unless_it_is_trusted() {
    let (mut pool, now) = (pool(16, &[9]), Instant::now());
    let first = admitted(&mut pool, 0, now);
    for _ in 1..4 {
        busy(&mut pool, 0, now);
    }
    assert!(matches!(pool.admit(peer(0), now), Admission::AdmittedInsteadOf(_, closed) if closed == first));
    let idle = admitted(&mut pool, 1, now);
    let newest = pool.idle.iter().map(|(_, id)| *id).find(|id| *id != idle).unwrap();
    assert!(pool.begin_request(newest));
    assert_eq!(pool.admit(peer(0), now), Admission::Refused(FullLimit::Peer), "idle ones of others stay");
    for _ in 0..11 {
        busy(&mut pool, 9, now);
    }
    assert_eq!(pool.len(), 16);
}

#[test]
fn a_part_is_reserved_for_peers_that_have_authenticated() {
    let (mut pool, now) = (pool(16, &[0, 1]), Instant::now());
    pool.remember(peer(1));
    for _ in 0..14 {
        busy(&mut pool, 0, now);
    }
    assert_eq!(pool.admit(peer(0), now), Admission::Refused(FullLimit::UnknownPeers));
    assert_eq!(pool.admit(peer(3), now), Admission::Refused(FullLimit::UnknownPeers));
    busy(&mut pool, 1, now);
    busy(&mut pool, 1, now);
    assert_eq!(pool.admit(peer(1), now), Admission::Refused(FullLimit::Connections));
}

#[test]
fn an_unknown_peer_closes_no_connection_of_a_known_one_for_the_reserved_part() {
    let (mut pool, now) = (pool(8, &[0, 1]), Instant::now());
    pool.remember(peer(1));
    admitted(&mut pool, 1, now);
    for _ in 0..7 {
        busy(&mut pool, 0, now + SECOND);
    }
    assert_eq!(pool.admit(peer(0), now + SECOND), Admission::Refused(FullLimit::UnknownPeers));
}

#[test]
fn the_idle_time_falls_as_the_pool_fills() {
    let rules = PoolRules { connections: 100, trusted: BTreeSet::new(), idle: 120 * SECOND };
    for (open, seconds) in [(0, 120), (50, 120), (51, 10), (90, 10), (91, 1), (100, 1)] {
        assert_eq!(rules.idle_time(open), seconds * SECOND, "{open}");
    }
    let (mut pool, start) = (pool(4, &[]), Instant::now());
    let first = admitted(&mut pool, 0, start);
    assert_eq!(pool.remove_expired(start + 119 * SECOND), []);
    let others = [admitted(&mut pool, 1, start + 115 * SECOND), busy(&mut pool, 2, start)];
    assert_eq!(pool.remove_expired(start + 119 * SECOND), [first], "above half; then two of four are open");
    assert_eq!(pool.remove_expired(start + 235 * SECOND), [others[0]]);
    assert_eq!(pool.remove_expired(start + 9999 * SECOND), [], "a request is under way");
}

#[test]
fn running_out_of_descriptors_closes_the_longest_idle_ones() {
    let (mut pool, now) = (pool(8, &[]), Instant::now());
    let ids: Vec<ConnectionId> = (0..4).map(|n| admitted(&mut pool, n, now + u32::from(n) * SECOND)).collect();
    assert!(pool.begin_request(ids[1]));
    assert_eq!(pool.remove_idle(2, now + 3 * SECOND), [ids[0], ids[2]]);
    assert_eq!(pool.remove_idle(2, now + 3 * SECOND), [], "it has just become idle");
    assert_eq!(pool.remove_idle(2, now + 4 * SECOND), [ids[3]]);
}

#[test]
fn addresses_of_authenticated_clients_are_forgotten_when_they_are_too_many() {
    let (mut pool, now) = (pool(8, &[0]), Instant::now());
    pool.remember(peer(0));
    for _ in 0..3 {
        busy(&mut pool, 0, now);
    }
    for number in 0..MOST_KNOWN {
        let [.., high, low] = number.to_be_bytes();
        pool.remember(IpAddr::from([10, 1, high, low]));
    }
    assert_eq!((pool.known.len(), pool.unknown), (MOST_KNOWN, 3));
}

#[derive(Debug, Clone)]
enum Step {
    Admit(u8),
    Begin(usize),
    End(usize),
    Remove(usize),
    Remember(u8),
    Expire,
    Pass(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (0..6_u8).prop_map(Step::Admit),
        3 => (0..40_usize).prop_map(Step::Begin),
        2 => (0..40_usize).prop_map(Step::End),
        1 => (0..40_usize).prop_map(Step::Remove),
        1 => (0..6_u8).prop_map(Step::Remember),
        1 => Just(Step::Expire),
        1 => (0..15_u8).prop_map(Step::Pass),
    ];
    proptest::collection::vec(step, 0..200)
}

/// What a new connection must have found before, counted anew from all connections.
fn check_admission(
    pool: &ConnectionPool,
    from: IpAddr,
    before: &BTreeMap<ConnectionId, Open>,
    (admission, now): (Admission, Instant),
) {
    let count = |peer: IpAddr| before.values().filter(|open| open.peer == peer).count();
    let stays = |open: &Open| {
        let is_in_use = open.idle_since.is_none_or(|since| now < since + IDLE_FOR_A_MOMENT);
        open.idle_since.is_none() || (is_in_use && open.peer != from && count(open.peer) <= count(from))
    };
    let idle_since = |id| before.get(&id).and_then(|open| open.idle_since);
    match admission {
        Admission::Admitted(_) => assert!(before.len() < pool.rules.connections),
        Admission::AdmittedInsteadOf(_, closed) => {
            let since = idle_since(closed).expect("only idle connections are closed");
            let own_first = before.values().filter(|open| open.peer == from).filter_map(|open| open.idle_since).min();
            assert!(own_first.is_none_or(|first| since <= first), "none of its own was idle for longer");
        }
        Admission::Refused(FullLimit::Connections) => assert!(before.values().all(stays)),
        Admission::Refused(FullLimit::Peer) => {
            let mut own = before.values().filter(|open| open.peer == from);
            assert!(own.all(|open| open.idle_since.is_none()));
        }
        Admission::Refused(FullLimit::UnknownPeers) => assert!(!pool.known.contains_key(&from)),
    }
}

fn check(pool: &ConnectionPool) {
    assert!(pool.len() <= pool.rules.connections);
    let of = |peer: &IpAddr| pool.open.values().filter(|open| open.peer == *peer).count();
    for (peer, count) in &pool.peers {
        assert_eq!(*count, of(peer));
        assert!(pool.rules.trusted.contains(peer) || *count <= pool.rules.peer_share());
    }
    assert_eq!(pool.peers.values().sum::<usize>(), pool.len());
    let unknown = pool.open.values().filter(|open| !pool.known.contains_key(&open.peer)).count();
    assert_eq!(pool.unknown, unknown);
    let idle: BTreeSet<(Instant, ConnectionId)> =
        pool.open.iter().filter_map(|(id, open)| Some((open.idle_since?, *id))).collect();
    assert_eq!(pool.idle, idle);
}

proptest! {
    #[test]
    fn no_limit_is_ever_exceeded_and_only_idle_connections_are_closed(
        steps in steps(),
        connections in 1..20_usize,
        trusted in proptest::collection::vec(0..6_u8, 0..3),
    ) {
        let mut pool = pool(connections, &trusted);
        let (mut now, mut ids) = (Instant::now(), Vec::new());
        for step in steps {
            let chosen = |n: usize| ids.get(n % ids.len().max(1)).copied();
            match step {
                Step::Admit(from) => {
                    let before = pool.open.clone();
                    let admission = pool.admit(peer(from), now);
                    check_admission(&pool, peer(from), &before, (admission, now));
                    if let Admission::Admitted(id) | Admission::AdmittedInsteadOf(id, _) = admission {
                        ids.push(id);
                    }
                }
                Step::Begin(n) => { let _ = chosen(n).map(|id| pool.begin_request(id)); }
                Step::End(n) => { let _ = chosen(n).map(|id| pool.end_request(id, now)); }
                Step::Remove(n) => { let _ = chosen(n).map(|id| pool.remove(id)); }
                Step::Remember(from) => pool.remember(peer(from)),
                Step::Expire => {
                    let before = pool.open.clone();
                    for id in pool.remove_expired(now) {
                        prop_assert!(before[&id].idle_since.is_some_and(|since| now - since >= SECOND));
                    }
                }
                Step::Pass(tenths) => now += u32::from(tenths) * (SECOND / 20),
            }
            check(&pool);
        }
    }
}
