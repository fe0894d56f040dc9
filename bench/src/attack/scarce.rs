//! Servers with few open files, or with little address space.

use std::time::Duration;

use super::connections::{Kind, make};
use super::goals::goals;
use super::observe::observe;
use super::senders::send_slowly;
use super::target::{Scarcity, Target, create_provider};
use super::wire;
use crate::error::Error;
use crate::size::Size;
use crate::table::{Goal, Row};

const HALF_A_GIB_IN_KIB: u32 = 512 * 1024;
const CONNECTIONS: usize = 300;

pub async fn measure(size: Size) -> Result<Row, Error> {
    let lasts = size.pick(Duration::from_secs(5), Duration::from_secs(1));
    let files = |count| Scarcity { open_files: Some(count), ..Scarcity::default() };
    let space = Scarcity { address_space_kib: Some(HALF_A_GIB_IN_KIB), ..Scarcity::default() };
    let mut all = Vec::new();
    for (name, scarcity) in [("ulimit -n 64", files(64)), ("ulimit -n 1024", files(1024)), ("512 MiB", space)] {
        all.extend(attack(name, scarcity, lasts).await?);
    }
    Ok(Row { letter: 'E', what: "scarce resources".to_owned(), goals: all })
}

async fn attack(name: &str, scarcity: Scarcity, lasts: Duration) -> Result<Vec<Goal>, Error> {
    let mut target = Target::start(scarcity).await?;
    let api = target.watched.api;
    let floods = async {
        let (idle, busy) = (make(Kind::Idle, api, CONNECTIONS, lasts), make(Kind::Busy, api, CONNECTIONS, lasts));
        tokio::try_join!(idle, busy, send_slowly(api, CONNECTIONS / 2, lasts))?;
        Ok(())
    };
    let (seen, ()) = observe(target.watched, |_| wire::get("/resource_providers?name=a"), floods).await?;
    target.check()?;
    // The server has recovered when it takes a write again.
    target.fill(vec![create_provider("after-the-attack")]).await?;
    let mut all = goals(name, &seen);
    all.push(Goal::budget("the process goes on", "yes", true));
    Ok(all)
}
