//! The same transaction through PostgreSQL's own pgbench, which shows whether our client slows down the bare one. Every
//! claim takes one unit of each class.

use std::fs;
use std::time::Duration;

use berth_postgres::Postgres;

use super::bodies::{CONSUMER_TYPE, USER};
use super::error::Error;
use super::statements::Statements;

pub const PROJECT: &str = "pgbench";
/// A key that is unique to each claim and has the form of a UUID.
const WHO: &str = "'00000000-0000-4000-b000-' || lpad(:who::text, 12, '0')";
const CONSUMERS: u64 = 999_999_999_999;
/// The settings of the connections, as far as plans depend on them.
const OPTIONS: &str = "-c%20plan_cache_mode%3Dforce_generic_plan%20-c%20enable_seqscan%3Doff%20-c%20jit%3Doff";

/// The results of pgbench.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PgbenchResult {
    pub count: u64,
    pub rate: f64,
}

/// Claims on hosts of one provider each, for this time.
pub async fn run(postgres: &Postgres, database: &str, writers: u64, time: Duration) -> Result<PgbenchResult, Error> {
    let script = script(&Statements::read()?, hosts(postgres, database).await?);
    let file = postgres.folder().join("claim.pgbench");
    fs::write(&file, script).map_err(Error::system("write the script for pgbench"))?;
    let (writers, seconds) = (writers.to_string(), time.as_secs().to_string());
    let (file, url) = (file.display().to_string(), format!("{}?options={OPTIONS}", postgres.url(database)));
    let arguments =
        ["-n", "-M", "prepared", "-c", &writers, "-j", "2", "-T", &seconds, "-f", &file, &url].map(str::to_owned);
    let output = postgres.run("pgbench", &arguments).await?;
    done(&output).ok_or_else(|| Error::Answer(format!("pgbench says something else than its rate:\n{output}")))
}

/// The range of the provider IDs, which must be contiguous.
async fn hosts(postgres: &Postgres, database: &str) -> Result<(u64, u64), Error> {
    let found = postgres.ask(database, "select min(id), max(id), count(*) from providers").await?;
    let numbers: Result<Vec<u64>, _> = found.split('|').map(str::parse).collect();
    match numbers.as_deref() {
        Ok([first, last, count]) if last - first + 1 == *count => Ok((*first, *last)),
        _ => Err(Error::Answer(format!("the hosts have no numbers one after the other: {found}"))),
    }
}

fn done(output: &str) -> Option<PgbenchResult> {
    let after = |start: &str| output.lines().find_map(|line| line.strip_prefix(start))?.split([' ', '/']).next();
    Some(PgbenchResult {
        count: after("number of transactions actually processed: ")?.parse().ok()?,
        rate: after("tps = ")?.parse().ok()?,
    })
}

fn script(statements: &Statements, (first, last): (u64, u64)) -> String {
    let Statements { begin, consumers, providers, read, write, commit, .. } = statements;
    let host = "ARRAY[:host::bigint]".to_owned();
    let consumers = filled(consumers, &[format!("ARRAY[{WHO}]")]);
    let providers = filled(providers, &["'{}'::text[]".to_owned(), host.clone()]);
    let (read, write) = (filled(read, &[host]), filled(write, &parameters()));
    format!(
        "\\set host random({first}, {last})\n\\set who random(1, {CONSUMERS})\n{begin};\n{consumers};\n{providers};\n\
         {read} \\gset p_\n{write};\n{commit};\n"
    )
}

/// The parameters of the statement that writes, in their order.
fn parameters() -> [String; 26] {
    let one = |value: &str| format!("ARRAY[{value}]");
    let (who, host, generation) = (one(WHO), one(":host"), one(":p_generation::bigint"));
    let (nothing, class, hosts) = ("'{}'".to_owned(), ":p_class".to_owned(), one(":host, :host, :host"));
    let new =
        [who, one("1"), one(&format!("'{PROJECT}'")), one(&format!("'{USER}'")), one(&format!("'{CONSUMER_TYPE}'"))];
    let old = [(); 5].map(|()| nothing.clone());
    let amounts = [one(&[WHO; 3].join(", ")), hosts.clone(), class.clone(), "'{1,1,1}'".to_owned(), "0".to_owned()];
    let more = "(SELECT array_agg(was + 1) FROM unnest(:p_used::bigint[]) AS was)".to_owned();
    let used = [hosts, class, more, ":p_used".to_owned()];
    let raised = [host.clone(), one(":p_generation::bigint + 1"), generation, one("true"), host, "false".to_owned()];
    let positions = "'{0,0,0}'".to_owned();
    let mut all = new.into_iter().chain(old).chain(amounts).chain(used).chain(raised).chain([positions]);
    std::array::from_fn(|_| all.next().unwrap_or_default())
}

/// The statement with these values in place of `$1`, `$2` and so on.
fn filled(statement: &str, parameters: &[String]) -> String {
    let mut parts = statement.split('$');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let digits = part.len() - part.trim_start_matches(|digit: char| digit.is_ascii_digit()).len();
        let (number, rest) = part.split_at(digits);
        let parameter = number.parse::<usize>().ok().and_then(|number| parameters.get(number.checked_sub(1)?));
        text.push_str(&parameter.map_or_else(|| format!("${number}"), String::clone));
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_take_their_places() {
        let parameters: Vec<String> = (1..=12).map(|number| format!("<{number}>")).collect();
        assert_eq!(filled("a $1::text[], $12 and $2", &parameters), "a <1>::text[], <12> and <2>");
        let script = script(&Statements::read().unwrap(), (3, 9));
        assert!(!script.contains('$') && script.contains("random(3, 9)"), "{script}");
        assert!(super::parameters().iter().all(|parameter| !parameter.is_empty()), "{:?}", super::parameters());
    }

    #[test]
    fn the_rate_is_read() {
        let output = "number of transactions actually processed: 1234\nlatency average = 1 ms\n\
                      tps = 411.5 (without initial connection time)\n";
        assert_eq!(done(output), Some(PgbenchResult { count: 1234, rate: 411.5 }));
        let limited = "number of transactions actually processed: 12/20\ntps = 1.0 (x)\n";
        assert_eq!(done(limited).map(|done| done.count), Some(12));
        assert_eq!(done("nothing"), None);
    }
}
