//! The statements of a claim from `claim.sql`; a test of the ledger compares that file with what the server sends.

use super::error::Error;

const WRITTEN: &str = include_str!("claim.sql");

/// In the order of sending; the first one is sent once for each connection.
#[derive(Debug)]
pub struct Statements {
    pub settings: String,
    pub begin: String,
    pub consumers: String,
    pub providers: String,
    pub read: String,
    pub write: String,
    pub commit: String,
}

impl Statements {
    pub fn read() -> Result<Self, Error> {
        let lines = WRITTEN.lines().filter(|line| !line.starts_with("--"));
        let text = lines.collect::<Vec<_>>().join("\n");
        let all: Vec<String> = text.split("\n\n").map(|text| text.trim().replace('\n', " ")).collect();
        let all: Result<[String; 7], _> = all.try_into();
        let all = all.map_err(|_| Error::Answer("claim.sql must have seven statements".to_owned()))?;
        let [settings, begin, consumers, providers, read, write, commit] = all;
        Ok(Self { settings, begin, consumers, providers, read, write, commit })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_has_a_claim() {
        let statements = Statements::read().unwrap();
        assert_eq!((statements.begin.as_str(), statements.commit.as_str()), ("BEGIN", "COMMIT"));
        assert!(statements.settings.starts_with("SET plan_cache_mode"));
        assert!(statements.write.contains("INSERT INTO allocations") && statements.write.contains("$26"));
    }
}
