//! Faults that can be switched on, to prove that tests notice them (`make mutants`, docs/testing.md). Each is asked about
//! at the one line where somebody would make it. A build without `--cfg mutants`, which is every build that is shipped or
//! tested otherwise, has none of them: the question is answered when it is compiled.

macro_rules! mutants {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A fault that tests must notice.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutant {
            $($(#[$doc])* $variant,)*
        }

        impl Mutant {
            /// All of them, in the order of docs/testing.md.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// What people and the variable `BERTH_MUTANT` call it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

mutants! {
    /// A commitment loses its finalizer while slots of it are left.
    FinalizerRemovedEarly = "finalizer removed early",
    /// What was not listed yet, or is not followed, counts as all there is.
    PartialTakenForComplete = "partial taken for complete",
    /// Room that was given to a commitment is not kept until its slots show it.
    AssumeEntryDropped = "assume entry dropped",
    /// A write without an answer leaves no doubt.
    InDoubtForgotten = "in-doubt forgotten",
    /// The answer to an own write is not in the store before the watch shows it.
    OwnWriteNotEntered = "own write not entered",
    /// A slot that moves blocks only the host that it moves to.
    StatusHostNotBlocked = "status.host not blocked",
    /// A VM that a slot expects counts as there, whatever the host lists.
    ConfirmedWithoutPresence = "confirmed without presence",
    /// A slot that cannot be created because its name is taken counts as created.
    AlreadyExistsAsSuccess = "AlreadyExists as success",
    /// A deletion does not say which state of which object it means.
    DeleteWithoutPrecondition = "delete without precondition",
    /// After a refusal the slots follow the spec that was refused.
    RollBackToTheNewSpec = "roll-back to the new spec",
    /// An object that cannot be decoded counts as deleted.
    UndecodableAsAbsent = "undecodable as absent",
    /// A host that is missing has gone, without a grace.
    HostGoneAtOnce = "host gone at once",
    /// Nobody looks when the end of a commitment has come.
    ExpiryTimerMissing = "expiry timer missing",
    /// A commitment is rejected for what will pass, such as a write that an API server answers with 500.
    RejectOn500 = "reject on 500",
    /// A status is written although it says nothing new.
    StatusWrittenAlways = "status written always",
    /// A replica takes a lease that is still good.
    TwoLeaders = "two leaders",
    /// A MiB has 1,000,000 bytes.
    UnitMb = "unit MB",
    /// A commitment that shrinks gives up slots with VMs like empty ones.
    ShrinkTakesTheSlotWithTheVm = "shrink takes the slot with the VM",
    /// What a slot says about an earlier generation of its commitment counts for the present one.
    HandshakeIgnored = "handshake ignored",
    /// A slot may be placed in any zone.
    ZoneIgnored = "zone ignored",
}

impl Mutant {
    /// Whether this fault is to be made.
    #[cfg(not(mutants))]
    #[inline]
    pub const fn is_on(self) -> bool {
        false
    }

    /// Whether this fault is to be made: the one that `BERTH_MUTANT` names, none without it.
    #[cfg(mutants)]
    pub fn is_on(self) -> bool {
        use std::sync::OnceLock;

        static CHOSEN: OnceLock<Option<Mutant>> = OnceLock::new();
        #[expect(clippy::disallowed_methods, reason = "the one exception: no pure crate is shipped with it")]
        let named = || std::env::var("BERTH_MUTANT").unwrap_or_default();
        let chosen = CHOSEN.get_or_init(|| {
            let named = named();
            Self::ALL.iter().copied().find(|mutant| mutant.name() == named)
        });
        *chosen == Some(self)
    }
}

#[cfg(all(test, not(mutants)))]
mod tests {
    use super::*;

    /// What is known when it is compiled does not depend on where it runs.
    const NONE: () = {
        let mut at = 0;
        while at < Mutant::ALL.len() {
            assert!(!Mutant::ALL[at].is_on());
            at += 1;
        }
    };

    #[test]
    fn a_build_without_the_switch_has_no_mutants() {
        let () = NONE;
        assert_eq!(Mutant::ALL.len(), 20);
    }
}
