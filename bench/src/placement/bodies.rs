//! Providers and claims as bodies of requests.

use serde_json::{Map, Value, json};

use super::cloud::{Claim, Inventory, Of, Provider, key};

/// User of the residents and guests.
pub const USER: &str = "bench";
pub const CONSUMER_TYPE: &str = "INSTANCE";

pub fn provider(provider: &Provider) -> String {
    let Provider { key, name, parent, .. } = provider;
    json!({ "uuid": key, "name": name, "parent_provider_uuid": parent }).to_string()
}

/// The bodies for `PUT .../inventories`, `.../traits` and `.../aggregates`, in this order, with the generations of a
/// new provider.
pub fn details(provider: &Provider) -> Vec<(&'static str, String)> {
    let records = provider.inventories.iter().map(|inventory| (inventory.class.to_owned(), record(inventory)));
    let mut values = vec![("inventories", Value::Object(records.collect()))];
    if !provider.traits.is_empty() {
        values.push(("traits", json!(provider.traits)));
    }
    if let Some(aggregate) = provider.aggregate {
        values.push(("aggregates", json!([key(Of::Aggregate, aggregate)])));
    }
    let numbered = values.into_iter().enumerate();
    let body = |(generation, (what, value)): (usize, (&'static str, Value))| {
        let mut body = Map::new();
        body.insert("resource_provider_generation".to_owned(), json!(generation));
        body.insert(what.to_owned(), value);
        (what, Value::Object(body).to_string())
    };
    numbered.map(body).collect()
}

fn record(inventory: &Inventory) -> Value {
    let Inventory { total, reserved, ratio, .. } = inventory;
    json!({
        "total": total, "reserved": reserved, "min_unit": 1, "max_unit": total, "step_size": 1, "allocation_ratio": ratio,
    })
}

/// The body for `PUT /allocations/{consumer}` of a new consumer.
pub fn claim(claim: &Claim, project: &str) -> String {
    let mut allocations = Map::new();
    for (provider, taken) in &claim.from {
        let resources: Map<String, Value> =
            taken.iter().map(|(class, amount)| ((*class).to_owned(), json!(amount))).collect();
        allocations.insert(provider.clone(), json!({ "resources": resources }));
    }
    json!({
        "allocations": allocations, "project_id": project, "user_id": USER, "consumer_generation": null,
        "consumer_type": CONSUMER_TYPE,
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::cloud::{Amounts, Cloud, Shape};

    #[test]
    fn details_are_written_with_the_generations_that_follow_each_other() {
        let cloud = Cloud { shape: Shape::Flat, hosts: 1, residents: 2 };
        let details = details(&cloud.host(0)[0]);
        let names: Vec<&str> = details.iter().map(|(what, _)| *what).collect();
        assert_eq!(names, ["inventories", "traits", "aggregates"]);
        for (generation, (_, body)) in details.iter().enumerate() {
            let body: Value = serde_json::from_str(body).unwrap();
            assert_eq!(body["resource_provider_generation"], json!(generation));
        }
    }

    #[test]
    fn a_claim_has_all_its_amounts() {
        let cloud = Cloud { shape: Shape::Nested, hosts: 1, residents: 2 };
        let taken = cloud.claim("consumer".to_owned(), 0, 1, Amounts { cores: 1, memory: 2, disk: 3 });
        let body: Value = serde_json::from_str(&claim(&taken, "project")).unwrap();
        let numa = &body["allocations"][key(Of::Numa, 1)]["resources"];
        assert_eq!((&numa["VCPU"], &numa["MEMORY_MB"]), (&json!(1), &json!(2)));
        assert_eq!(body["consumer_generation"], Value::Null);
    }
}
