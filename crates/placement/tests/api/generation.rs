//! The configurable generation of candidates: random, in turns, and how many.

use std::sync::atomic::{AtomicU64, Ordering};

use berth_placement::api::Seeds;
use berth_placement::{Api, GenerationOptions, policy};

use crate::support::{Server, uuid};

const TWO_OF_EACH: &str = "GET /allocation_candidates?resources=VCPU:1";

/// Ten hosts with two providers each that have the requested resources.
async fn hosts(change: impl FnOnce(Api) -> Api) -> Server {
    let server = Server::with(change, policy::defaults(false));
    for host in ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] {
        server.provider(host, None, "").await;
        for numa in ["0", "1"] {
            server.provider(&format!("{host}{numa}"), Some(host), r#"{"VCPU": {"total": 4}}"#).await;
        }
    }
    server
}

/// The hosts of the candidates, by the first letters of their providers.
async fn letters(server: &Server, query: &str) -> String {
    let requests = server.done(query, "").await.json()["allocation_requests"].clone();
    let letter = |request: &serde_json::Value| {
        let uuid = request["allocations"].as_object().unwrap().keys().next().unwrap().clone();
        char::from(u8::from_str_radix(&uuid[..2], 16).unwrap())
    };
    requests.as_array().unwrap().iter().map(letter).collect()
}

#[tokio::test]
async fn hosts_come_one_after_the_other_or_take_turns() {
    let deep = hosts(|api| api).await;
    assert_eq!(letters(&deep, TWO_OF_EACH).await, "aabbccddeeffgghhiijj");
    assert_eq!(letters(&deep, &format!("{TWO_OF_EACH}&limit=4")).await, "aabb");
    let broad = GenerationOptions { breadth_first: true, ..GenerationOptions::default() };
    let broad = hosts(|api| api.with_generation(broad)).await;
    assert_eq!(letters(&broad, TWO_OF_EACH).await.len(), 20);
    assert_eq!(letters(&broad, &format!("{TWO_OF_EACH}&limit=4")).await, "abcd");
}

#[tokio::test]
async fn generation_stops_before_the_limit() {
    for (most, query, expected) in [(3, "", "aab"), (3, "&limit=2", "aa"), (3, "&limit=9", "aab"), (0, "", "")] {
        let options = GenerationOptions { most_requests: most, ..GenerationOptions::default() };
        let server = hosts(|api| api.with_generation(options)).await;
        assert_eq!(letters(&server, &format!("{TWO_OF_EACH}{query}")).await, expected, "{most} {query}");
    }
}

#[tokio::test]
async fn each_query_has_an_order_of_its_own() {
    let count = AtomicU64::new(0);
    let seeds = Seeds::of(move || count.fetch_add(1, Ordering::Relaxed));
    let server = hosts(|api| api.with_seeds(Some(seeds))).await;
    let (first, second) = (letters(&server, TWO_OF_EACH).await, letters(&server, TWO_OF_EACH).await);
    assert_ne!(first, second);
    for drawn in [first, second] {
        let mut sorted: Vec<char> = drawn.chars().collect();
        sorted.sort_unstable();
        assert_eq!(sorted.into_iter().collect::<String>(), "aabbccddeeffgghhiijj", "{drawn}");
    }
    let again = hosts(|api| api.with_seeds(Some(Seeds::of(|| 7)))).await;
    assert_eq!(letters(&again, TWO_OF_EACH).await, letters(&again, TWO_OF_EACH).await, "the seed decides");
    let one = letters(&server, &format!("{TWO_OF_EACH}&in_tree={}", uuid("c"))).await;
    assert_eq!(one, "cc");
}
