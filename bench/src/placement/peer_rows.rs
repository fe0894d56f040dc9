//! Writes a large cloud as rows of Placement's own tables, because storing it over HTTP takes Placement almost an hour.
//! A small cloud is stored over HTTP first, so that traits, project, user and consumer type exist.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;

use berth_postgres::Postgres;

use super::cloud::{AGGREGATES, Claim, Cloud, Of, Provider, key};
use super::error::Error;

const DATABASE: &str = "placement";
const NOW: &str = "2026-01-01 00:00:00";
/// Numbering of the rows that refer to each other restarts; names stay.
const EMPTY: &str = "truncate resource_providers, inventories, allocations, consumers, resource_provider_traits, \
                     resource_provider_aggregates, placement_aggregates cascade;\n";
const CLASSES: [(&str, u8); 4] = [("VCPU", 0), ("MEMORY_MB", 1), ("DISK_GB", 2), ("SRIOV_NET_VF", 4)];

pub async fn replace(postgres: &Postgres, cloud: &Cloud) -> Result<(), Error> {
    let traits = postgres.ask(DATABASE, "select name || ' ' || id from traits").await?;
    let traits: BTreeMap<&str, &str> = traits.lines().filter_map(|line| line.split_once(' ')).collect();
    let file = postgres.folder().join("cloud.sql");
    fs::write(&file, Rows::of(cloud, &traits)?.sql()).map_err(Error::system("write the rows of a cloud"))?;
    Ok(postgres.run_file(DATABASE, &file).await?)
}

/// The lines of `COPY`, by table.
#[derive(Debug, Default)]
struct Rows {
    providers: Vec<Vec<String>>,
    roots: BTreeMap<String, (usize, usize)>,
    inventories: Vec<Vec<String>>,
    traits: Vec<Vec<String>>,
    aggregates: Vec<Vec<String>>,
    consumers: Vec<Vec<String>>,
    allocations: Vec<Vec<String>>,
}

impl Rows {
    fn of(cloud: &Cloud, traits: &BTreeMap<&str, &str>) -> Result<Self, Error> {
        let mut rows = Self::default();
        for provider in cloud.sharing() {
            rows.provider(&provider, traits)?;
        }
        for host in 0..cloud.hosts {
            for provider in cloud.host(host) {
                rows.provider(&provider, traits)?;
            }
            for resident in cloud.residents(host) {
                rows.resident(&resident)?;
            }
        }
        Ok(rows)
    }

    fn provider(&mut self, provider: &Provider, traits: &BTreeMap<&str, &str>) -> Result<(), Error> {
        let id = self.providers.len() + 1;
        let parent = provider.parent.as_ref().map(|parent| self.place(parent)).transpose()?;
        let root = parent.map_or(id, |(_, root)| root);
        self.roots.insert(provider.key.clone(), (id, root));
        let generation = 1 + usize::from(!provider.traits.is_empty()) + usize::from(provider.aggregate.is_some());
        let parent = parent.map_or_else(|| "\\N".to_owned(), |(parent, _)| parent.to_string());
        self.providers.push(row(
            [NOW, NOW],
            [
                id.to_string(),
                provider.key.clone(),
                provider.name.clone(),
                generation.to_string(),
                root.to_string(),
                parent,
            ],
        ));
        for inventory in &provider.inventories {
            let (total, one) = (inventory.total.to_string(), "1".to_owned());
            let (class, ratio) = (class(inventory.class)?, format!("{:?}", inventory.ratio));
            let amounts = [total.clone(), inventory.reserved.to_string(), one.clone(), total, one, ratio];
            self.inventories.push([row([NOW], [id.to_string(), class]), amounts.to_vec()].concat());
        }
        for name in &provider.traits {
            let number = traits.get(name).ok_or_else(|| Error::Answer(format!("Placement has no trait {name}")))?;
            self.traits.push(row([NOW], [(*number).to_owned(), id.to_string()]));
        }
        if let Some(aggregate) = provider.aggregate {
            self.aggregates.push(row([NOW], [id.to_string(), (aggregate + 1).to_string()]));
        }
        Ok(())
    }

    fn resident(&mut self, claim: &Claim) -> Result<(), Error> {
        let ones = [1; 4].map(|one: u8| one.to_string());
        self.consumers.push([row([NOW], [claim.consumer.clone()]), ones.to_vec()].concat());
        for (provider, taken) in &claim.from {
            let (id, _) = self.place(provider)?;
            for (name, amount) in taken {
                let values = [id.to_string(), claim.consumer.clone(), class(name)?, amount.to_string()];
                self.allocations.push(row([NOW], values));
            }
            if let Some(generation) = self.providers[id - 1].get_mut(5) {
                *generation = (generation.parse::<usize>().unwrap_or_default() + 1).to_string();
            }
        }
        Ok(())
    }

    fn place(&self, provider: &str) -> Result<(usize, usize), Error> {
        let place = self.roots.get(provider).copied();
        place.ok_or_else(|| Error::Answer(format!("the provider {provider} is named before it is there")))
    }

    fn sql(&self) -> String {
        let groups = (0..AGGREGATES).map(|number| row([NOW], [(number + 1).to_string(), key(Of::Aggregate, number)]));
        let tables = [
            ("placement_aggregates (created_at, id, uuid)", &groups.collect()),
            (
                "resource_providers (created_at, updated_at, id, uuid, name, generation, root_provider_id, \
                 parent_provider_id)",
                &self.providers,
            ),
            (
                "inventories (created_at, resource_provider_id, resource_class_id, total, reserved, min_unit, max_unit, \
                 step_size, allocation_ratio)",
                &self.inventories,
            ),
            ("resource_provider_traits (created_at, trait_id, resource_provider_id)", &self.traits),
            ("resource_provider_aggregates (created_at, resource_provider_id, aggregate_id)", &self.aggregates),
            ("consumers (created_at, uuid, project_id, user_id, generation, consumer_type_id)", &self.consumers),
            ("allocations (created_at, resource_provider_id, consumer_id, resource_class_id, used)", &self.allocations),
        ];
        let mut sql = EMPTY.to_owned();
        for (table, rows) in tables {
            // Cannot fail: the target is a string.
            let _ = write!(sql, "copy {table} from stdin;\n{}\\.\n", lines(rows));
        }
        for table in ["resource_providers", "placement_aggregates"] {
            let _ = writeln!(sql, "select setval('{table}_id_seq', (select max(id) from {table}));");
        }
        sql + "vacuum analyze;\n"
    }
}

fn row<const TIMES: usize, const VALUES: usize>(times: [&str; TIMES], values: [String; VALUES]) -> Vec<String> {
    times.into_iter().map(str::to_owned).chain(values).collect()
}

fn lines(rows: &[Vec<String>]) -> String {
    rows.iter().map(|row| row.join("\t") + "\n").collect()
}

fn class(name: &str) -> Result<String, Error> {
    let known = CLASSES.iter().find(|(known, _)| *known == name);
    known.map(|(_, id)| id.to_string()).ok_or_else(|| Error::Answer(format!("{name} has no number here")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::placement::cloud::Shape;

    #[test]
    fn all_rows_of_a_table_are_as_long_as_its_columns() {
        for shape in Shape::ALL {
            let cloud = Cloud { shape, hosts: 10, residents: 2 };
            let names: Vec<&str> = [cloud.host(0), cloud.sharing()]
                .iter()
                .flatten()
                .chain(&(0..10).flat_map(|host| cloud.host(host)).collect::<Vec<_>>())
                .flat_map(|provider| provider.traits.clone())
                .collect();
            let traits: BTreeMap<&str, &str> = names.into_iter().map(|name| (name, "7")).collect();
            let sql = Rows::of(&cloud, &traits).unwrap().sql();
            let mut columns = 0;
            for line in sql.lines() {
                if let Some(rest) = line.strip_prefix("copy ") {
                    columns = rest.split(", ").count();
                } else if line.starts_with("20") {
                    assert_eq!(line.split('\t').count(), columns, "{line}");
                }
            }
            assert!(sql.contains(&key(Of::Host, 9)));
        }
    }
}
