//! `featureGates`: the switches of work that is not finished, or has not proved itself for long. Each is declared here once.

use std::collections::BTreeSet;

use super::section::Section;

/// How far the work behind a gate is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Off by default; it may change or go.
    Alpha,
    /// On by default, and can be switched off.
    Beta,
    /// Always on: the gate is read for two more releases, without effect.
    Stable,
}

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// Whether VMs are entered into the slots they use.
    CommittedResourceTracking,
}

/// What is said about a gate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateDeclaration {
    /// The key in `featureGates`.
    pub name: &'static str,
    pub stage: Stage,
    /// The version of Berth in which it has had this stage first.
    pub since: &'static str,
    pub meaning: &'static str,
}

impl Stage {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alpha => "alpha",
            Self::Beta => "beta",
            Self::Stable => "stable",
        }
    }

    /// Whether a gate is on of which nothing is said.
    pub fn is_on_by_default(self) -> bool {
        self != Self::Alpha
    }
}

impl Gate {
    pub const ALL: [Self; 1] = [Self::CommittedResourceTracking];

    pub fn declaration(self) -> GateDeclaration {
        match self {
            Self::CommittedResourceTracking => GateDeclaration {
                name: "committedResourceTracking",
                stage: Stage::Beta,
                since: "0.1.0",
                meaning: "Enter VMs into the slots that they use.",
            },
        }
    }
}

/// What is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeatureGates {
    on: BTreeSet<Gate>,
}

impl FeatureGates {
    pub fn is_on(&self, gate: Gate) -> bool {
        self.on.contains(&gate)
    }

    pub(super) fn read(root: &mut Section<'_>) -> Self {
        let old_place = read_old_place(root);
        let on = root
            .section("featureGates", |s| Gate::ALL.into_iter().filter(|gate| read_gate(s, *gate, old_place)).collect());
        Self { on }
    }
}

/// What counts for a gate: its key, else its key at the old place, else its stage.
fn read_gate(s: &mut Section<'_>, gate: Gate, old_place: Option<bool>) -> bool {
    let GateDeclaration { name, stage, meaning, .. } = gate.declaration();
    let default = stage.is_on_by_default();
    let said = s.flag(name, default, meaning);
    let value = match (stage, gate) {
        (Stage::Stable, _) => true,
        (_, Gate::CommittedResourceTracking) if !s.has(name) => old_place.unwrap_or(default),
        _ => said,
    };
    if stage == Stage::Stable && s.has(name) {
        s.warning(name, "is always on, so this has no effect; remove it".to_owned());
    }
    s.settle(name, value)
}

/// The reference has its gate at the top level.
fn read_old_place(root: &mut Section<'_>) -> Option<bool> {
    const KEY: &str = "committedResourceTracking";
    const FLAT: &str = "Old place of `featureGates.committedResourceTracking`, which wins; move it there.";
    let flat = root.flag(KEY, true, FLAT);
    let is_set = root.has(KEY);
    if is_set {
        root.warning(KEY, format!("is the old place; move it to featureGates.{KEY}"));
    }
    root.settle(KEY, None::<bool>);
    is_set.then_some(flat)
}
