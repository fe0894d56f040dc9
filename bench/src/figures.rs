//! The results of the start benchmark, as a table.

use std::time::Duration;

/// The figures of one start.
#[derive(Clone, Debug)]
pub struct Row {
    pub objects: usize,
    /// The time until `/readyz` answered 200.
    pub ready: Duration,
    /// The time until every commitment and every slot was reconciled once.
    pub reconciled: Duration,
    /// The processor seconds until then.
    pub cpu_seconds: f64,
    /// The processor seconds of the idle time that follows.
    pub idle_cpu_seconds: f64,
    /// The peak memory at the end of the idle time.
    pub peak_mib: u64,
    pub writes: u64,
}

pub fn table(rows: &[Row]) -> String {
    let head = format!(
        "{:>8} {:>9} {:>14} {:>8} {:>18} {:>12} {:>7}",
        "objects", "ready", "all reconciled", "CPU", "CPU of idle 30 s", "peak memory", "writes"
    );
    let lines = rows.iter().map(|row| {
        let (ready, reconciled) = (row.ready.as_secs_f64(), row.reconciled.as_secs_f64());
        let (cpu, idle) = (row.cpu_seconds, row.idle_cpu_seconds);
        format!(
            "{:>8} {ready:>7.1} s {reconciled:>12.1} s {cpu:>6.1} s {idle:>16.1} s {:>8} MiB {:>7}",
            row.objects, row.peak_mib, row.writes
        )
    });
    [head].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}
