//! Lines of JSON for the process that started this one: progress, then the result or an error.

use crate::error::{Error, Result};
use serde_json::{Map, Value, json};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

const INTERVAL: Duration = Duration::from_millis(500);

/// What was done so far. Shared by all threads.
#[derive(Debug, Default)]
pub struct Progress {
    pub raw_bytes: AtomicU64,
    /// Compressed.
    pub bytes: AtomicU64,
    pub keys: AtomicU64,
    /// Other fields of the line.
    pub more: Mutex<Map<String, Value>>,
}

/// Counts the bytes that pass through a reader or a writer.
pub struct Counted<'a, T> {
    inner: T,
    count: &'a AtomicU64,
}

impl<'a, T> Counted<'a, T> {
    pub fn new(inner: T, count: &'a AtomicU64) -> Self {
        Self { inner, count }
    }
}

impl<T: Read> Read for Counted<'_, T> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

impl<T: Write> Write for Counted<'_, T> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.count.fetch_add(written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}

/// Writes the lines.
pub struct Lines {
    writer: JoinHandle<File>,
    stop: Sender<()>,
}

impl Lines {
    /// Starts to write progress to the descriptor with this number.
    pub fn start(descriptor: u32, progress: Arc<Progress>) -> Result<Self> {
        let path = format!("/proc/self/fd/{descriptor}");
        let mut file = OpenOptions::new().append(true).open(path).map_err(|error| {
            Error::general(format!("--live-lines: descriptor {descriptor} cannot be written: {error}"))
        })?;
        let (stop, stopped) = channel();
        let writer = std::thread::spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let [raw_bytes, bytes, keys] = [&progress.raw_bytes, &progress.bytes, &progress.keys]
                    .map(|count| count.load(Ordering::Relaxed));
                let mut line = progress.more.lock().unwrap_or_else(PoisonError::into_inner).clone();
                line.extend([
                    ("kind".into(), "progress".into()),
                    ("raw_bytes".into(), raw_bytes.into()),
                    ("bytes".into(), bytes.into()),
                    ("keys".into(), keys.into()),
                ]);
                write_line(&mut file, &line.into());
            }
            file
        });
        Ok(Self { writer, stop })
    }

    pub fn end(self, outcome: &Result<Map<String, Value>>) {
        drop(self.stop);
        let Ok(mut file) = self.writer.join() else { return };
        let line = match outcome {
            Ok(fields) => {
                let mut line = fields.clone();
                line.insert("kind".into(), "end".into());
                Value::Object(line)
            }
            Err(error) => json!({"kind": "error", "code": error.code.name(), "message": error.message}),
        };
        write_line(&mut file, &line);
    }
}

/// Errors are ignored: the transfer does not depend on its reader, and the exit status reports the
/// outcome too.
fn write_line(file: &mut File, line: &Value) {
    let _ = file.write_all(format!("{line}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn progress_is_followed_by_the_result() {
        let path = std::env::temp_dir().join(format!("shardboard-lines-{}", std::process::id()));
        let file = File::create(&path).unwrap();
        let progress = Arc::new(Progress::default());
        progress.keys.store(7, Ordering::Relaxed);
        let live = Lines::start(file.as_raw_fd() as u32, progress).unwrap();
        let text = || std::fs::read_to_string(&path).unwrap();
        lab::wait("a line", || text().ends_with('\n'));
        live.end(&Err(Error::corrupted("damaged")));
        let lines: Vec<Value> = text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(lines[0], json!({"kind": "progress", "raw_bytes": 0, "bytes": 0, "keys": 7}));
        let error = json!({"kind": "error", "code": "file-corrupted", "message": "damaged"});
        assert_eq!(lines.last(), Some(&error));
    }
}
