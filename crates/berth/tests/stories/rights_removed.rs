//! Every verb of every rule of `config/rbac`, at home and in another cluster, is removed from a running operator, and what the
//! table names reports it. A right that nothing misses is not declared. Runs the real binary on real API servers.

mod grants;
mod place;
mod scene;
mod table;

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use self::grants::{Grants, HOME, REMOTE, Right, right, rights};
use self::place::Place;
use self::scene::{Before, Scene};
use self::table::{ROWS, Row, STAGES, Stage};

/// What is missing is reported within this time.
const WITHIN: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(100);

#[test]
fn each_verb_of_each_rule_has_one_row() {
    let rows: BTreeSet<Right> = ROWS.iter().map(right).collect();
    assert_eq!(rows.len(), ROWS.len(), "a right has two rows");
    assert_eq!(rights(HOME), rows, "left: the rules of config/rbac; right: rights_removed/table.rs");
    let played = |row: &Row| row.stage == Stage::Background || STAGES.contains(&row.stage);
    assert!(ROWS.iter().all(played));
}

#[test]
fn each_verb_of_each_rule_elsewhere_has_a_row() {
    let rows: BTreeSet<Right> = ROWS.iter().map(right).collect();
    let missing: Vec<_> = rights(REMOTE).difference(&rows).cloned().collect();
    assert!(missing.is_empty(), "rules of config/rbac/remote without a row: {missing:?}");
}

/// The rights that are removed, and the roles that grant them.
struct Removal {
    rows: Vec<&'static Row>,
    grants: Grants,
}

impl Removal {
    fn of(file: &str, client: kube::Client) -> Self {
        let granted = rights(file);
        let rows = ROWS.iter().filter(|row| granted.contains(&right(row))).collect();
        Self { rows, grants: Grants::new(file, client) }
    }

    fn rows(&self, stage: Stage) -> Vec<&'static Row> {
        self.rows.iter().copied().filter(|row| row.stage == stage).collect()
    }
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
    async fn observe(&mut self, scene: &Scene, grants: &Grants) -> Result<(), String> {
        let Some(row) = self.rows.first() else { return Ok(()) };
        scene.is_reported(row, &self.before).await.map_err(|bad| format!("{}: {bad}", right(row).join(" ")))?;
        self.rows.remove(0);
        self.before = scene.before().await;
        grants.grant_without(&self.removed().into_iter().collect()).await;
        Ok(())
    }
}

/// Removes the rights of a stage, lets the operator use them, and grants them again when all were missed.
async fn play(stage: Stage, scene: &mut Scene, background: &Background, removal: &Removal) {
    let before = scene.before().await;
    let missing = background.removed();
    let mut left = removal.rows(stage);
    let removed: BTreeSet<_> = left.iter().copied().map(right).chain(missing.clone()).collect();
    removal.grants.grant_without(&removed).await;
    scene.play(stage).await;
    let deadline = Instant::now() + WITHIN;
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
    removal.grants.grant_without(&missing.into_iter().collect()).await;
    scene.recovers(stage, &before).await;
}

async fn play_all(place: Place, file: &str) {
    let removal = Removal::of(file, place.admin().await);
    let mut scene = Scene::begin(place).await;
    let mut background = Background { rows: removal.rows(Stage::Background), before: scene.before().await };
    // First of all: once the operator has read and deleted the old Histories, it reads them again after minutes.
    removal.grants.grant_without(&background.removed().into_iter().collect()).await;
    scene.warm_up().await;
    for stage in STAGES {
        let began = Instant::now();
        play(stage, &mut scene, &background, &removal).await;
        println!("{stage:?}: {:?}", began.elapsed());
        // Most of the time it is too early.
        let _ = background.observe(&scene, &removal.grants).await;
    }
    let mut deadline = Instant::now() + WITHIN;
    while !background.rows.is_empty() {
        let left = background.rows.len();
        let observed = background.observe(&scene, &removal.grants).await;
        if background.rows.len() < left {
            // The next right has just been removed.
            deadline = Instant::now() + WITHIN;
        }
        assert!(Instant::now() < deadline, "{observed:?}\n{}", scene.report());
        sleep(PAUSE).await;
    }
    scene.end().await;
}

#[tokio::test]
async fn a_right_that_is_removed_is_missed_where_the_table_says() {
    play_all(Place::home().await, HOME).await;
}

#[tokio::test]
async fn a_right_that_is_removed_in_another_cluster_is_missed_where_the_table_says() {
    play_all(Place::remote().await, REMOTE).await;
}
