//! Passes files to the process that stores them, as it requests.
//!
//! Requests are lines on standard input: `next` (send the first file), `stored` (it is stored, forget it)
//! and `stop`. A file that could not be stored is requested again. Each file is sent as a line of JSON and
//! its bytes. When there will be no other file, the output ends.

use super::queue::{Body, Queue, Waiting};
use serde_json::json;
use std::fs::File;
use std::io::{BufRead, BufReader, Result, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

#[derive(Default)]
pub struct Control {
    is_stopped: AtomicBool,
}

impl Control {
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::Relaxed)
    }

    fn stop(&self) {
        self.is_stopped.store(true, Ordering::Relaxed);
    }
}

/// Starts the threads. The returned one ends after the last file.
pub fn start(requests: File, output: File, queue: Arc<Queue>, control: Arc<Control>) -> JoinHandle<()> {
    let (sender, receiver) = std::sync::mpsc::channel::<bool>();
    let closed = Arc::clone(&queue);
    std::thread::spawn(move || {
        for line in BufReader::new(requests).lines() {
            match line.as_deref() {
                Ok("stop") => control.stop(),
                Ok(other) => drop(sender.send(other == "stored")),
                Err(_) => break,
            }
        }
        // The process that stores files has ended.
        control.stop();
        closed.close();
    });
    std::thread::spawn(move || {
        let mut output = output;
        for is_stored in receiver {
            if is_stored {
                queue.remove_first();
                continue;
            }
            let Some(first) = queue.first() else { return };
            if write(&mut output, &first).is_err() {
                return;
            }
        }
    })
}

fn write(output: &mut File, waiting: &Waiting) -> Result<()> {
    let file = &waiting.file;
    let header = json!({
        "replication_id": file.start.replication_id,
        "start": file.start.offset,
        "end": file.end,
        "since": file.since,
        "until": file.until,
        "bytes": waiting.length,
    });
    output.write_all(format!("{header}\n").as_bytes())?;
    match &waiting.body {
        Body::Memory(bytes) => output.write_all(bytes),
        Body::Spooled(path) => std::io::copy(&mut File::open(path)?, output).map(drop),
    }
}
