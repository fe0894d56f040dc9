//! Processor time and memory of a process, from `/proc`.

use std::{fs, io};

use crate::error::Error;

/// Clock ticks per second in `/proc`: 100 on every Linux that we support.
const TICKS: f64 = 100.0;
/// Of a second.
const NANOSECONDS: f64 = 1e9;

/// Processor seconds so far, and memory.
#[derive(Clone, Copy, Debug)]
pub struct Usage {
    pub cpu_seconds: f64,
    pub resident_kib: u64,
    pub peak_kib: u64,
}

impl Usage {
    /// The processor seconds after an earlier state, with the current memory.
    pub fn since(self, earlier: Self) -> Self {
        Self { cpu_seconds: self.cpu_seconds - earlier.cpu_seconds, ..self }
    }
}

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

/// Processor seconds of all threads of a process that have not ended, with a higher resolution than those of `usage`.
pub fn seconds_of_threads(pid: u32) -> Result<f64, Error> {
    let path = format!("/proc/{pid}/task");
    let threads = fs::read_dir(&path).map_err(Error::system(&path))?;
    let ids = threads.filter_map(|thread| thread.ok()?.file_name().into_string().ok());
    // A thread may end meanwhile.
    let times = ids.filter_map(|id| read(pid, &format!("task/{id}/schedstat")).ok());
    Ok(times.filter_map(|text| text.split(' ').next()?.parse::<f64>().ok()).sum::<f64>() / NANOSECONDS)
}

/// From now on the peak of the memory is counted anew.
pub fn forget_peak(pid: u32) -> Result<(), Error> {
    let path = format!("/proc/{pid}/clear_refs");
    fs::write(&path, "5").map_err(Error::system(path))
}

pub fn usage(pid: u32) -> Result<Usage, Error> {
    let (stat, status) = (read(pid, "stat")?, read(pid, "status")?);
    let [resident_kib, peak_kib] = ["VmRSS:", "VmHWM:"].map(|name| kib(&status, name));
    Ok(Usage { cpu_seconds: cpu_seconds(&stat), resident_kib, peak_kib })
}

fn read(pid: u32, file: &str) -> Result<String, Error> {
    let path = format!("/proc/{pid}/{file}");
    fs::read_to_string(&path).map_err(Error::system(path))
}

/// Fields 14 and 15, counted from 1; the second field is a name in parentheses, which may hold anything.
fn cpu_seconds(stat: &str) -> f64 {
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    fields.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum::<f64>() / TICKS
}

fn kib(status: &str, name: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_found() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0 0";
        assert!((cpu_seconds(stat) - 2.0).abs() < 1e-9);
        assert_eq!(kib("VmPeak:\t 9 kB\nVmHWM:\t  20480 kB\n", "VmHWM:"), 20_480);
        let usage = |cpu_seconds, kib| Usage { cpu_seconds, resident_kib: kib, peak_kib: kib };
        let between = usage(5.0, 9).since(usage(2.0, 7));
        assert_eq!((between.cpu_seconds.round().to_string(), between.peak_kib), ("3".to_owned(), 9));
    }

    #[test]
    fn the_time_of_threads_is_about_that_of_the_process_and_a_peak_can_be_forgotten() {
        let pid = std::process::id();
        let large = vec![1_u8; 64 << 20];
        assert!(large.iter().map(|byte| u64::from(*byte)).sum::<u64>() > 0);
        drop(large);
        let (threads, before) = (seconds_of_threads(pid).unwrap(), usage(pid).unwrap());
        assert!(threads > 0.0 && threads < before.cpu_seconds + 1.0, "{threads} {before:?}");
        forget_peak(pid).unwrap();
        let after = usage(pid).unwrap();
        assert!(before.peak_kib - after.peak_kib > 32 << 10, "{before:?} {after:?}");
    }
}
