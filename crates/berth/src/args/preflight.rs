//! Arguments of `berth preflight`.

use clap::Args;

use super::{OperatorArguments, Output};

/// Arguments of `berth preflight`: those of the start that is asked about.
#[derive(Debug, Args)]
pub struct PreflightArguments {
    /// Output format.
    #[arg(long, short, value_enum, default_value_t = Output::Text)]
    pub output: Output,
    /// The flags of the operator.
    #[command(flatten)]
    pub operator: OperatorArguments,
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use crate::args::{Arguments, Command, Output, PlacementCommand};

    fn parsed(line: &str) -> Command {
        Arguments::try_parse_from(line.split(' ')).unwrap().command
    }

    #[test]
    fn a_preflight_takes_the_arguments_of_the_start() {
        let line = "berth preflight --leader-elect --metrics-bind-address=:2112 --config c.json --zap-devel -o json";
        let Command::Preflight(arguments) = parsed(line) else { panic!("another command") };
        assert_eq!(arguments.output, Output::Json);
        assert!(arguments.operator.leader_elect && arguments.operator.clusters.config.is_some());
        let Command::Placement(arguments) = parsed("berth placement --listen=:1 --database=a.db preflight -o json")
        else {
            panic!("another command")
        };
        assert_eq!((arguments.listen.as_deref(), arguments.database.as_deref()), (Some(":1"), Some("a.db")));
        assert!(matches!(arguments.command, Some(PlacementCommand::Preflight { output: Output::Json })));
    }
}
