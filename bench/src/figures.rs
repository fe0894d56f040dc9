//! What was measured, as a table.

use std::time::Duration;

/// One start.
#[derive(Clone, Debug)]
pub struct Row {
    /// Objects in the cluster.
    pub objects: usize,
    /// Until `/readyz` answered 200.
    pub ready: Duration,
    /// Until every commitment and every slot was looked at once.
    pub looked: Duration,
    /// Processor seconds until then.
    pub cpu_seconds: f64,
    /// Processor seconds of the time in which nothing happened after it.
    pub idle_cpu_seconds: f64,
    /// The most memory at the end of that time.
    pub peak_mib: u64,
    /// Writes that the operator counted.
    pub writes: u64,
}

/// All of them, one line each.
pub fn table(rows: &[Row]) -> String {
    let head = format!(
        "{:>8} {:>9} {:>14} {:>8} {:>18} {:>12} {:>7}",
        "objects", "ready", "all looked at", "CPU", "CPU of idle 30 s", "peak memory", "writes"
    );
    let lines = rows.iter().map(|row| {
        let (ready, looked) = (row.ready.as_secs_f64(), row.looked.as_secs_f64());
        let (cpu, idle) = (row.cpu_seconds, row.idle_cpu_seconds);
        format!(
            "{:>8} {ready:>7.1} s {looked:>12.1} s {cpu:>6.1} s {idle:>16.1} s {:>8} MiB {:>7}",
            row.objects, row.peak_mib, row.writes
        )
    });
    [head].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}
