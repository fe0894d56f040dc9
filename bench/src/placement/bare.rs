//! A claim as its bare transaction: the statements that the server sends, on a connection with the same settings,
//! without HTTP and with no rule but the check of capacity. A server cannot be faster than this.

use std::collections::BTreeMap;

use sqlx::postgres::PgRow;
use sqlx::{Connection as _, Executor as _, PgConnection, Row as _};
use tokio::runtime::{Builder, Runtime};

use super::bodies::{CONSUMER_TYPE, USER};
use super::cloud::Claim;
use super::error::Error;
use super::statements::Statements;

/// The outcome of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Became {
    Acknowledged,
    Full,
}

/// The connection of one writer.
#[derive(Debug)]
pub struct Bare {
    runtime: Runtime,
    connection: PgConnection,
    statements: Statements,
}

impl Bare {
    pub fn connect(url: &str) -> Result<Self, Error> {
        let statements = Statements::read()?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::system("start a runtime"))?;
        let connection = runtime.block_on(async {
            let mut connection = PgConnection::connect(url).await?;
            connection.execute(statements.settings.as_str()).await?;
            Ok::<_, sqlx::Error>(connection)
        })?;
        Ok(Self { runtime, connection, statements })
    }

    /// Runs one transaction; it changes nothing when there is not enough capacity.
    pub fn claim(&mut self, claim: &Claim, project: &str) -> Result<Became, Error> {
        self.runtime.block_on(transaction(&mut self.connection, &self.statements, claim, project))
    }
}

async fn transaction(
    connection: &mut PgConnection,
    statements: &Statements,
    claim: &Claim,
    project: &str,
) -> Result<Became, Error> {
    connection.execute(statements.begin.as_str()).await?;
    let consumers = vec![claim.consumer.as_str()];
    sqlx::query(&statements.consumers).bind(&consumers).fetch_all(&mut *connection).await?;
    let uuids: Vec<&str> = claim.from.iter().map(|(uuid, _)| uuid.as_str()).collect();
    let locked = sqlx::query(&statements.providers).bind(uuids).bind(Vec::<i64>::new());
    let locked = locked.fetch_all(&mut *connection).await?;
    let ids = locked.iter().map(|row| row.try_get(0)).collect::<Result<Vec<i64>, _>>()?;
    let rows = sqlx::query(&statements.read).bind(&ids).fetch_all(&mut *connection).await?;
    let Some(rows) = Rows::of(&rows, claim)? else {
        connection.execute("ROLLBACK").await?;
        return Ok(Became::Full);
    };
    rows.write(connection, &statements.write, claim, project).await?;
    connection.execute(statements.commit.as_str()).await?;
    Ok(Became::Acknowledged)
}

/// The rows that a claim changes, as columns.
#[derive(Debug, Default)]
struct Rows {
    providers: Vec<i64>,
    classes: Vec<&'static str>,
    amounts: Vec<i64>,
    used: Vec<i64>,
    was: Vec<i64>,
    ids: Vec<i64>,
    generations: Vec<i64>,
}

fn integer(amount: u64) -> Result<i64, Error> {
    i64::try_from(amount).map_err(|_| Error::Answer(format!("{amount} is too much")))
}

impl Rows {
    fn of(rows: &[PgRow], claim: &Claim) -> Result<Option<Self>, Error> {
        let mut columns = Self::default();
        for row in rows {
            let (id, uuid): (i64, &str) = (row.try_get(0)?, row.try_get(1)?);
            let taken = claim.from.iter().filter(|(of, _)| of == uuid).flat_map(|(_, taken)| taken);
            let capacity = capacity(row)?;
            for (class, amount) in taken {
                let (amount, (used, limit)) = (integer(*amount)?, capacity.get(*class).copied().unwrap_or_default());
                if used + amount > limit {
                    return Ok(None);
                }
                columns.providers.push(id);
                columns.classes.push(*class);
                columns.amounts.push(amount);
                columns.used.push(used + amount);
                columns.was.push(used);
            }
            columns.ids.push(id);
            columns.generations.push(row.try_get(3)?);
        }
        Ok(Some(columns))
    }

    async fn write(
        self,
        connection: &mut PgConnection,
        statement: &str,
        claim: &Claim,
        project: &str,
    ) -> Result<(), Error> {
        let (nothing, none) = (Vec::<&str>::new(), Vec::<i64>::new());
        let consumers = vec![claim.consumer.as_str(); self.amounts.len()];
        let generations: Vec<i64> = self.generations.iter().map(|generation| generation + 1).collect();
        let query = sqlx::query(statement).bind(&consumers[..1]).bind(vec![1_i64]).bind(vec![project]);
        let query = query.bind(vec![USER]).bind(vec![CONSUMER_TYPE]);
        let query = query.bind(&nothing).bind(&none).bind(&nothing).bind(&nothing).bind(&nothing);
        let query = query.bind(&consumers).bind(&self.providers).bind(&self.classes).bind(&self.amounts).bind(0_i64);
        let query = query.bind(&self.providers).bind(&self.classes).bind(&self.used).bind(&self.was);
        let query = query.bind(&self.ids).bind(generations).bind(&self.generations);
        let query = query.bind(vec![true; self.ids.len()]).bind(&self.ids).bind(false);
        let query = query.bind(vec![0_i64; self.amounts.len()]);
        let row = query.fetch_one(connection).await?;
        let written: (i64, i64) = (row.try_get(1)?, row.try_get(2)?);
        let wanted = (self.used.len().try_into(), self.ids.len().try_into());
        if (Ok(written.0), Ok(written.1)) == wanted {
            return Ok(());
        }
        Err(Error::Answer(format!("a bare transaction changed {written:?} rows under its own locks")))
    }
}

/// Usage and limit of each resource class.
fn capacity(row: &PgRow) -> Result<BTreeMap<String, (i64, i64)>, Error> {
    let classes: Vec<String> = row.try_get(8)?;
    let (total, reserved, used): (Vec<i64>, Vec<i64>, Vec<i64>) = (row.try_get(9)?, row.try_get(10)?, row.try_get(15)?);
    let ratio: Vec<f64> = row.try_get(14)?;
    let limit = |at: usize| {
        #[expect(clippy::cast_possible_truncation, clippy::cast_precision_loss, reason = "far below 2^53")]
        let limit = ((total[at] - reserved[at]) as f64 * ratio[at]) as i64;
        limit
    };
    Ok(classes.into_iter().enumerate().map(|(at, class)| (class, (used[at], limit(at)))).collect())
}
