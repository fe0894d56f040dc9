//! `berth config`: checks a configuration, or prints the values in effect, exactly as the operator reads it.

use berth_cluster::{Kind, Routes, chain};
use berth_crds::{CommittedResource, Hypervisor, Knowledge, Reservation};
use berth_liquid::configured::configured_without_capacity;
use berth_liquid::server::default_policies;
use berth_placement::policy;
use berth_telemetry::TelemetryError;
use berth_telemetry::config::{self, Configuration, Files, Findings, Loaded, Severity};
use berth_telemetry::metrics::Metrics;

use super::output::{self, counted};
use crate::args::{ConfigArguments, ConfigCommand};
use crate::error::Error;
use crate::operator::memory_settings;
use crate::policy_file::{self, PolicyFile};
use crate::wiring::{Memory, OperatorMetrics};

const OF_ALL: &str = "auth.policyFile";
const OF_PLACEMENT: &str = "placement.policyFile";

pub(super) fn run(command: &ConfigCommand) -> Result<(), Error> {
    match command {
        ConfigCommand::Check(arguments) => check(arguments),
        ConfigCommand::Print(arguments) => print(arguments),
    }
}

/// What the reader of the configuration does not find.
#[derive(Default)]
struct LateFindings {
    errors: Vec<String>,
    warnings: Vec<String>,
}

impl LateFindings {
    /// What the start of an operator finds in the policy file, and what that of `berth placement` would find.
    fn check_policies(&mut self, configuration: &Configuration) {
        let (of_all, placement) = (configuration.auth.policy_file.as_deref(), &configuration.placement);
        let read = of_all.map(|path| policy_file::decode(default_policies(), path)).transpose();
        let can_be_read = read.is_ok();
        match read {
            Ok(file) => self.warn_of_rules(OF_ALL, file.as_ref()),
            Err(error) => self.errors.push(format!("{OF_ALL}: {error}")),
        }
        let defaults = policy::defaults(placement.enforce_new_defaults);
        let of_placement = placement.policy_file.as_deref();
        let (key, path) =
            of_placement.map_or((OF_ALL, of_all.filter(|_| can_be_read)), |own| (OF_PLACEMENT, Some(own)));
        match path.map(|path| policy_file::decode(defaults, path)).transpose() {
            Ok(file) => self.warn_of_rules(OF_PLACEMENT, file.as_ref().filter(|_| of_placement.is_some())),
            Err(error) => self.warnings.push(format!("{key}: berth placement does not start: {error}")),
        }
    }

    fn warn_of_rules(&mut self, key: &str, file: Option<&PolicyFile>) {
        let unknown = file.into_iter().flat_map(|file| &file.unknown);
        self.warnings.extend(unknown.map(|rule| {
            format!("{key}: no API has a rule {rule:?}, so it has no effect; correct its name or remove it")
        }));
    }
}

/// Everything that is said about a configuration before anything is contacted.
pub(super) struct ConfigReport {
    /// In the order in which they were found.
    pub(super) findings: Vec<(Severity, String)>,
    /// Absent if it cannot be used.
    pub(super) configuration: Option<Configuration>,
}

impl ConfigReport {
    pub(super) fn of(files: &Files, strict: bool) -> Result<Self, Error> {
        match config::load(files, strict) {
            Ok(Loaded { configuration, findings, .. }) => {
                let mut late = LateFindings { errors: unusable(&configuration), warnings: doubtful(&configuration) };
                late.check_policies(&configuration);
                let findings = listed(&findings).chain(late.listed()).collect();
                Ok(Self { findings, configuration: Some(configuration) })
            }
            Err(TelemetryError::Configuration { findings }) => {
                Ok(Self { findings: listed(&findings).collect(), configuration: None })
            }
            Err(error) => Err(error.into()),
        }
    }

    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|(one, _)| *one == severity).count()
    }
}

impl LateFindings {
    fn listed(self) -> impl Iterator<Item = (Severity, String)> {
        let with = |severity| move |text| (severity, text);
        let warnings = self.warnings.into_iter().map(with(Severity::Warning));
        self.errors.into_iter().map(with(Severity::Error)).chain(warnings)
    }
}

fn listed(findings: &Findings) -> impl Iterator<Item = (Severity, String)> {
    findings.0.iter().map(|finding| (finding.severity, finding.to_string()))
}

fn files(arguments: &ConfigArguments) -> Files {
    Files { config: arguments.file.clone(), secrets: arguments.secrets.clone() }
}

fn check(arguments: &ConfigArguments) -> Result<(), Error> {
    let report = ConfigReport::of(&files(arguments), arguments.strict_config)?;
    output::print(&report.findings.iter().map(line).collect::<String>())?;
    let (errors, warnings) = (report.count(Severity::Error), report.count(Severity::Warning));
    let counts = format!("{}, {}", counted(errors, "error"), counted(warnings, "warning"));
    if errors > 0 {
        return Err(Error::Wrong(format!("an operator does not start with this configuration: {counts}")));
    }
    output::print(&format!("An operator starts with this configuration: {counts}.\n"))
}

fn print(arguments: &ConfigArguments) -> Result<(), Error> {
    match config::load(&files(arguments), arguments.strict_config) {
        Ok(loaded) => output::print(&output::json(&loaded.in_effect)?),
        Err(TelemetryError::Configuration { findings }) => {
            Err(Error::Wrong(format!("the configuration cannot be used:{findings}")))
        }
        Err(error) => Err(error.into()),
    }
}

/// Problems that otherwise only the start of an operator finds, without contacting a cluster.
fn unusable(configuration: &Configuration) -> Vec<String> {
    let routes = Routes::new(&configuration.api_servers);
    let memory = Memory::new(memory_settings(configuration), &routes);
    let metrics = Metrics::new(&configuration.common.metric_labels)
        .and_then(|registry| OperatorMetrics::register(&registry, &memory).map(drop));
    let metrics = metrics.err().map(|error| chain(&Error::from(error)));
    let kinds = [
        unserved::<CommittedResource>(&routes),
        unserved::<Reservation>(&routes),
        unserved::<Hypervisor>(&routes),
        unserved::<Knowledge>(&routes),
    ];
    metrics.into_iter().chain(kinds.into_iter().flatten()).collect()
}

/// What an operator logs about the resources that Limes is told.
fn doubtful(configuration: &Configuration) -> Vec<String> {
    let without = configured_without_capacity(&configuration.committed_resource_api.flavor_groups);
    let warning = |resource| {
        format!(
            "committedResourceAPI.flavorGroupResourceConfig: {resource} is announced without hasCapacity; behind a delegating \
             liquid, Limes rejects the report of the whole service"
        )
    };
    without.into_iter().map(warning).collect()
}

fn unserved<K: Kind>(routes: &Routes) -> Option<String> {
    routes.clusters::<K>().err().map(|error| chain(&Error::from(error)))
}

fn line((severity, text): &(Severity, String)) -> String {
    let word = match severity {
        Severity::Error => "error",
        Severity::Unknown | Severity::Warning => "warning",
        Severity::Info => "note",
    };
    format!("{word:<8} {text}\n")
}
