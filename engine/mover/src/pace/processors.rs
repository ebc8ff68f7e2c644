//! Use of the CPUs of this machine, from `/proc/stat`.

use super::Usage;
use crate::error::{Error, Result};
use std::fs::File;
use std::os::unix::fs::FileExt;

const FILE: &str = "/proc/stat";
/// The first line has at most this many bytes.
const MAX_LINE: usize = 512;
/// Fields of the line: the time without work, and that waiting for a disk.
const IDLE: usize = 3;
const WAITING: usize = 4;
/// The time of virtual machines is part of the previous fields.
const FIELDS: usize = 8;

pub struct Processors(File);

impl Processors {
    pub fn open() -> Result<Self> {
        let file = File::open(FILE);
        file.map(Self).map_err(|error| Error::general(format!("{FILE} cannot be opened: {error}")))
    }

    /// The use since the start of the machine. `None`: it cannot be read.
    pub fn usage(&self) -> Option<Usage> {
        let mut buffer = [0; MAX_LINE];
        let length = self.0.read_at(&mut buffer, 0).ok()?;
        parse(&String::from_utf8_lossy(&buffer[..length]))
    }
}

fn parse(text: &str) -> Option<Usage> {
    let line = text.lines().next()?.strip_prefix("cpu ")?;
    let fields = line.split_whitespace().take(FIELDS).map(str::parse).collect::<std::result::Result<_, _>>();
    let fields: Vec<u64> = fields.ok()?;
    let free = fields.get(IDLE)? + fields.get(WAITING)?;
    Some(Usage { free, total: fields.iter().sum() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_summed() {
        let text = "cpu  10 1 20 400 5 3 2 1 7 0\ncpu0 5 0 10 200 2 1 1 0 3 0\n";
        assert_eq!(parse(text), Some(Usage { free: 405, total: 442 }));
        assert_eq!(parse("cpu0 1 2 3 4 5"), None);
        assert_eq!(parse("cpu  1 2 x 4 5"), None);
    }

    #[test]
    fn this_machine_reports_its_use() {
        let usage = Processors::open().unwrap().usage().unwrap();
        assert!(usage.total > usage.free, "{usage:?}");
    }
}
