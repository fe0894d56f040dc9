//! Describes the machine of the measurement, in one line.

use std::fs;
use std::thread::available_parallelism;

/// Cores, processor, memory and kernel of this machine, as far as Linux reports them.
pub fn machine() -> String {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cores = available_parallelism().map_or(0, usize::from);
    let (cpu, memory) = (read("/proc/cpuinfo"), read("/proc/meminfo"));
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{cores} cores {}, {} GiB, Linux {}", model(&cpu), gib(&memory), kernel.trim())
}

fn model(cpuinfo: &str) -> &str {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"));
    line.and_then(|line| line.split_once(':')).map_or("of an unknown make", |(_, name)| name.trim())
}

/// Rounded, because the kernel keeps a part of the memory for itself.
fn gib(meminfo: &str) -> u64 {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")).unwrap_or_default();
    let kib = line.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).unwrap_or_default();
    kib.div_ceil(1024 * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_are_found() {
        assert_eq!(model("processor\t: 0\nmodel name\t: AMD EPYC\nmodel name\t: other\n"), "AMD EPYC");
        assert_eq!(model(""), "of an unknown make");
        assert_eq!(gib("MemTotal:       24605604 kB\nMemFree: 1 kB\n"), 24);
    }
}
