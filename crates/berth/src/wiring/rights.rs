//! The rights that an operator needs: those of the stores and of everything that is enabled.

use berth_capacity::CapacityController;
use berth_cluster::{AccessReviews, DisruptionLimit, Election, Reconciler as _, Right, StoreSet as _, Stores};
use berth_committed_resource::CommittedResourceController;
use berth_committed_resource::orphans::OrphanController;
use berth_limes_syncer::SyncController;
use berth_liquid::changes::ChangeController;
use berth_liquid::info::InfoPublisher;
use berth_liquid::quota::QuotaService;
use berth_quota::QuotaController;
use berth_reservation::ReservationController;
use berth_reservation::in_flight::InFlightController;
use berth_reservation::oversubscription::OversubscriptionController;
use berth_scheduler_api::Chosen;
use berth_scheduler_api::claims::ClaimKeeper;
use berth_scheduler_api::history::{Histories, HistoryRetention};
use berth_scheduler_api::pipelines::PipelineController;
use berth_scheduler_api::tracking::Bookings;
use berth_telemetry::config::{Configuration, Controller, Pipelines, Task};
use berth_usage::UsageController;

use super::{keystone, openstack, oversubscription};

/// What an operator does besides what its configuration says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Duties {
    /// It takes part in an election.
    pub competes: bool,
    /// It asks the API server about callers of its listeners.
    pub checks_callers: bool,
}

/// The rights of an operator with this configuration.
pub fn rights(configuration: &Configuration, duties: Duties) -> Vec<Right> {
    let enabled = |controller| configuration.enabled_controllers.contains(&controller);
    let pipelines = counted_pipelines(configuration);
    let mut rights = Stores::default().rights(pipelines != Pipelines::BuiltIn);
    if enabled(Controller::CommittedResources) {
        rights.extend(list_commitment_rights(configuration));
    }
    if configuration.enabled_tasks.contains(&Task::CommitmentsSync) {
        rights.extend(SyncController::rights(&()));
        rights.extend(openstack::limes_rights(configuration));
    }
    if enabled(Controller::Capacity) {
        rights.extend(CapacityController::<Chosen>::rights(&()));
    }
    if enabled(Controller::Quota) {
        rights.extend(QuotaController::rights(&()));
    }
    if enabled(Controller::InFlight) {
        rights.extend(InFlightController::rights(&()));
    }
    if enabled(Controller::NovaPipelines) {
        rights.extend(PipelineController::rights(&pipelines));
        rights.extend(Bookings::rights());
        rights.extend(Histories::rights());
        rights.extend(HistoryRetention::rights());
        rights.extend(ClaimKeeper::rights());
    }
    if duties.competes {
        rights.extend(Election::rights());
    }
    if duties.checks_callers {
        rights.extend(AccessReviews::rights());
    }
    rights
}

/// Which Pipelines count: without their controller no objects are followed.
pub(crate) fn counted_pipelines(configuration: &Configuration) -> Pipelines {
    let enabled = configuration.enabled_controllers.contains(&Controller::NovaPipelines);
    if enabled { configuration.scheduler.pipelines } else { Pipelines::BuiltIn }
}

fn list_commitment_rights(configuration: &Configuration) -> Vec<Right> {
    let mut rights = CommittedResourceController::<Chosen>::rights(&());
    rights.extend(ReservationController::<Chosen>::rights(&()));
    rights.extend(OrphanController::rights(&()));
    rights.extend(ChangeController::rights(&()));
    rights.extend(UsageController::rights(&()));
    rights.extend(DisruptionLimit::rights());
    rights.extend(InfoPublisher::rights());
    if configuration.committed_resource_api.enable_quota {
        rights.extend(QuotaService::rights());
    }
    rights.extend(openstack::rights(configuration));
    rights.extend(keystone::rights(configuration));
    if configuration.reservation_controller.enable_oversubscription_check {
        rights.extend(OversubscriptionController::rights(&oversubscription::settings(configuration)));
    }
    rights
}

/// The rights that operators need under any configuration, for roles that are made before the configuration is known.
pub fn all_rights() -> Vec<Right> {
    let mut configuration = Configuration {
        enabled_controllers: Controller::ALL.into(),
        enabled_tasks: Task::ALL.into(),
        ..Configuration::default()
    };
    configuration.scheduler.pipelines = Pipelines::BuiltInAndCrd;
    configuration.reservation_controller.enable_oversubscription_check = true;
    configuration.reservation_controller.enable_oversubscription_eviction = true;
    rights(&configuration, Duties { competes: true, checks_callers: true })
}
