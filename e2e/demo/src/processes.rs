//! The processes of the demonstration: control plane and operator. They end in order, and never outlive this one.

use std::path::Path;

use berth_control_plane::ControlPlane;

use crate::{error::Error, hints::Places, operator::Operator};

/// As config/rbac names them.
const NAMESPACE: &str = "berth-system";
const SERVICE_ACCOUNT: &str = "berth";

/// What runs.
#[derive(Default)]
pub struct Processes {
    // Dropped in this order: the operator goes first.
    operator: Option<Operator>,
    control_plane: Option<ControlPlane>,
}

impl Processes {
    /// Starts the control plane; gives its kubeconfig.
    pub async fn start_control_plane(&mut self) -> Result<&Path, Error> {
        Ok(self.control_plane.insert(ControlPlane::start().await?).kubeconfig())
    }

    /// Starts the operator with the rights of its service account.
    pub async fn start_operator(&mut self, program: &Path) -> Result<(), Error> {
        if let Some(control_plane) = &self.control_plane {
            let kubeconfig = control_plane.service_account(NAMESPACE, SERVICE_ACCOUNT).await?;
            self.operator = Some(Operator::start(program, control_plane, &kubeconfig).await?);
        }
        Ok(())
    }

    /// Whether there is something to end.
    pub fn are_there(&self) -> bool {
        self.control_plane.is_some()
    }

    /// An error when one of them has ended by itself.
    pub fn check(&mut self) -> Result<(), Error> {
        if let Some(control_plane) = &mut self.control_plane {
            control_plane.check()?;
        }
        self.operator.as_mut().map_or(Ok(()), Operator::check)
    }

    /// The operator, once it runs.
    pub fn operator(&self) -> Option<&Operator> {
        self.operator.as_ref()
    }

    /// The end of the operator's log.
    pub fn log_tail(&self) -> String {
        self.operator().map(Operator::log_tail).unwrap_or_default()
    }

    /// Calls `say` with where things are, once everything runs.
    pub fn places<T>(&self, say: impl FnOnce(Places<'_>) -> T) -> Option<T> {
        let (control_plane, operator) = (self.control_plane.as_ref()?, self.operator()?);
        Some(say(Places {
            kubeconfig: control_plane.kubeconfig(),
            kubectl: control_plane.kubectl().parent()?,
            log: operator.log(),
            metrics: &operator.metrics(),
        }))
    }

    /// Ends the operator, then the control plane. The second is ended even when the first fails.
    pub async fn end(&mut self) -> Result<(), Error> {
        let operator = match self.operator.take() {
            Some(operator) => operator.stop().await,
            None => Ok(()),
        };
        if let Some(control_plane) = self.control_plane.take() {
            control_plane.stop().await?;
        }
        operator
    }
}
