//! Every verb of every rule of `config/rbac` is removed from a running operator, and what the table names reports it. A right
//! that nothing misses is not declared. Runs the real binary on a real API server.

mod grants;
mod scene;
mod table;

use std::collections::BTreeSet;
use std::time::Duration;

use kube::Client;
use tokio::time::{Instant, sleep};

use self::grants::{Right, grant_without, right, rights};
use self::scene::{Before, Scene};
use self::table::{ROWS, Row, STAGES, Stage};

/// What is missing is reported within this time.
const WITHIN: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

#[test]
fn each_verb_of_each_rule_has_one_row() {
    let rows: BTreeSet<Right> = ROWS.iter().map(right).collect();
    assert_eq!(rows.len(), ROWS.len(), "a right has two rows");
    assert_eq!(rights(), rows, "left: the rules of config/rbac; right: rights_removed/table.rs");
    let played = |row: &Row| row.stage == Stage::Background || STAGES.contains(&row.stage);
    assert!(ROWS.iter().all(played));
}

fn of(stage: Stage) -> impl Iterator<Item = &'static Row> {
    ROWS.iter().filter(move |row| row.stage == stage)
}

/// The rights that are removed one after the other beside the stages, because they are used only now and then.
struct Background {
    rows: Vec<&'static Row>,
    before: Before,
}

impl Background {
    /// The right that is missing now.
    fn removed(&self) -> Option<Right> {
        self.rows.first().map(|row| right(row))
    }

    /// Goes on to the next one when the present one is reported.
    async fn observe(&mut self, scene: &Scene, client: &Client) -> Result<(), String> {
        let Some(row) = self.rows.first() else { return Ok(()) };
        scene.is_reported(row, &self.before).await.map_err(|bad| format!("{}: {bad}", right(row).join(" ")))?;
        self.rows.remove(0);
        self.before = scene.before().await;
        grant_without(client, &self.removed().into_iter().collect()).await;
        Ok(())
    }
}

/// Removes the rights of a stage, lets the operator use them, and grants them again when all were missed.
async fn play(stage: Stage, scene: &mut Scene, background: &Background, client: &Client) {
    let before = scene.before().await;
    let missing = background.removed();
    let removed: BTreeSet<_> = of(stage).map(right).chain(missing.clone()).collect();
    grant_without(client, &removed).await;
    scene.play(stage).await;
    let deadline = Instant::now() + WITHIN;
    let mut left: Vec<_> = of(stage).collect();
    loop {
        let mut bad = Vec::new();
        for row in std::mem::take(&mut left) {
            if let Err(why) = scene.is_reported(row, &before).await {
                bad.push(format!("{}: {why}", right(row).join(" ")));
                left.push(row);
            }
        }
        if left.is_empty() {
            break;
        }
        assert!(Instant::now() < deadline, "{stage:?}:\n{}\n{}", bad.join("\n"), scene.report());
        sleep(PAUSE).await;
    }
    scene.hold_lease().await;
    grant_without(client, &missing.into_iter().collect()).await;
    scene.recovers(stage, &before).await;
}

#[tokio::test]
async fn a_right_that_is_removed_is_missed_where_the_table_says() {
    let mut scene = Scene::begin().await;
    let client = scene.world.client().await;
    let mut background = Background { rows: of(Stage::Background).collect(), before: scene.before().await };
    grant_without(&client, &background.removed().into_iter().collect()).await;
    for stage in STAGES {
        let began = Instant::now();
        play(stage, &mut scene, &background, &client).await;
        println!("{stage:?}: {:?}", began.elapsed());
        // Most of the time it is too early.
        let _ = background.observe(&scene, &client).await;
    }
    let deadline = Instant::now() + WITHIN;
    while !background.rows.is_empty() {
        let observed = background.observe(&scene, &client).await;
        assert!(Instant::now() < deadline, "{observed:?}\n{}", scene.report());
        sleep(PAUSE).await;
    }
    scene.end().await;
}
