//! What Linux knows of a process: processor time and memory.

use std::{fs, io};

use crate::error::Error;

/// Clock ticks per second in `/proc`, which is 100 on every Linux that we run on.
const TICKS: f64 = 100.0;

/// Processor seconds so far, and the most memory so far in MiB.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    /// User and system time.
    pub cpu_seconds: f64,
    /// The highest resident set.
    pub peak_mib: u64,
}

/// The id of the thread that asks.
pub fn this_thread() -> Result<u32, Error> {
    let path = "/proc/thread-self";
    let link = fs::read_link(path).map_err(Error::system(path))?;
    let id = link.file_name().and_then(|name| name.to_str()?.parse().ok());
    id.ok_or_else(|| Error::system(path)(io::ErrorKind::InvalidData.into()))
}

/// Processor seconds of a thread of this process so far.
pub fn seconds_of_thread(id: u32) -> Result<f64, Error> {
    Ok(cpu_seconds(&read(std::process::id(), &format!("task/{id}/stat"))?))
}

/// Of the process with this id.
pub fn usage(pid: u32) -> Result<Usage, Error> {
    let (stat, status) = (read(pid, "stat")?, read(pid, "status")?);
    Ok(Usage { cpu_seconds: cpu_seconds(&stat), peak_mib: peak_mib(&status) })
}

fn read(pid: u32, file: &str) -> Result<String, Error> {
    let path = format!("/proc/{pid}/{file}");
    fs::read_to_string(&path).map_err(Error::system(path))
}

/// Fields 14 and 15, counted from 1; the second is a name in brackets, which may hold anything.
fn cpu_seconds(stat: &str) -> f64 {
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS
}

fn peak_mib(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default() / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0";
        assert!((cpu_seconds(stat) - 2.0).abs() < 1e-9);
        assert_eq!(peak_mib("VmPeak:\t 9 kB\nVmHWM:\t  20480 kB\n"), 20);
    }
}
