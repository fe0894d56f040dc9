//! How fast bodies are parsed: prints the times, with a limit that only a mistake in the algorithm exceeds.

use std::time::Instant;

use serde_json::json;

use super::decode;

/// A request as Nova sends it, with this many hosts.
fn body(hosts: usize) -> Vec<u8> {
    let name = |number: usize| format!("node{number:04}-bb{:03}.compute.region-1.example", number % 300);
    let hosts: Vec<String> = (0..hosts).map(name).collect();
    let list: Vec<_> = hosts.iter().map(|host| json!({"host": host, "hypervisor_hostname": host})).collect();
    let weights: serde_json::Map<_, _> = hosts.iter().map(|host| (host.clone(), 1.5.into())).collect();
    json!({"spec": {"nova_object.data": {"instance_uuid": "i", "num_instances": 1}}, "hosts": list, "weights": weights})
        .to_string()
        .into_bytes()
}

fn seconds(body: &[u8]) -> f64 {
    let runs = 20_u32;
    let started = Instant::now();
    for _ in 0..runs {
        decode(body).unwrap();
    }
    started.elapsed().as_secs_f64() / f64::from(runs)
}

#[test]
fn reading_grows_with_the_body_and_not_faster() {
    let (small, large) = (body(2_000), body(20_000));
    let best = |body: &[u8]| (0..5).map(|_| seconds(body)).fold(f64::MAX, f64::min);
    let (fast, slow) = (best(&small), best(&large));
    let speed = f64::from(u32::try_from(small.len()).unwrap()) / 1e6 / fast;
    println!(
        "2,000 hosts: {} bytes in {:.0} us, {speed:.0} MB/s; 20,000 hosts: {:.0} us",
        small.len(),
        fast * 1e6,
        slow * 1e6
    );
    assert!(slow < fast * 60.0, "ten times the body took {} times as long", slow / fast);
}
