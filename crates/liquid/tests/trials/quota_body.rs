//! The property of `quota_body`, for the fuzzer and for a test of `berth-liquid`: bodies of quota, one after the other; a line
//! `---` separates two. No answer is a 500. After a 204 the objects are exactly what a second reader of the same JSON
//! expects, and after anything else they are as they were.

use std::collections::BTreeMap;

use axum::body::Bytes;
use axum::http::HeaderMap;
use berth_crds::ProjectQuota;
use berth_testkit::Server;
use serde_json::{Deserializer, Value};

use super::bodies::split_bodies;
use super::setting::{Process, server};

/// By zone and resource.
type Stored = BTreeMap<(String, String), i64>;

pub fn set(input: &[u8]) -> Vec<u16> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(answer_all(split_bodies(input)))
}

async fn answer_all(bodies: Vec<Bytes>) -> Vec<u16> {
    let server = server();
    let process = Process::start(&server);
    let mut statuses = Vec::new();
    for body in bodies {
        let before = stored(&server);
        let seen = process.send(body.clone(), HeaderMap::new()).await;
        match seen.status {
            204 => assert_eq!(expected(&body).unwrap_or_else(|| stored(&server)), stored(&server)),
            // The API server bounds the lengths of zones and names, and long answers are cut.
            500 => assert!(seen.text.contains("refuses it (422)") || seen.text.len() > 900, "{}", seen.text),
            400 => assert_eq!(stored(&server), before),
            status => panic!("{status} {}", seen.text),
        }
        statuses.push(seen.status);
    }
    statuses
}

fn stored(server: &Server) -> Stored {
    let objects = server.all::<ProjectQuota>().unwrap().into_iter();
    let values = objects.flat_map(|object| {
        let zone = object.spec.availability_zone;
        object.spec.quota.into_iter().map(move |(name, value)| ((zone.clone(), name), value))
    });
    values.collect()
}

/// What a body without faults stores, from its JSON. The units are those of the process. `None` if what is ignored in it is
/// no JSON value, for example a number that is too large.
fn expected(body: &[u8]) -> Option<Stored> {
    let value = Deserializer::from_slice(body).into_iter::<Value>().next()?.ok()?;
    let mut stored = Stored::new();
    for (name, resource) in value["resources"].as_object().unwrap() {
        for (zone, quota) in resource["perAZ"].as_object().into_iter().flatten() {
            let unit = if name == "hw_version_hana_v3_ram" { 480 } else { 1 };
            let quota = i64::try_from(quota["quota"].as_u64().unwrap_or_default()).unwrap();
            stored.insert((zone.clone(), name.clone()), quota.checked_mul(unit).unwrap());
        }
    }
    Some(stored)
}
