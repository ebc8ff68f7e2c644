//! A recorder as a process, and the files that it writes.

use crate::lab::{Lab, PASSWORD};
use lab::wait;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

/// A file with changes: what the recorder says about it, and its bytes.
pub struct ChangeFile {
    pub header: Value,
    pub bytes: Vec<u8>,
}

impl ChangeFile {
    pub fn number(&self, name: &str) -> u64 {
        self.header[name].as_u64().unwrap()
    }
}

pub struct Recorder {
    process: Child,
    requests: ChildStdin,
    output: BufReader<ChildStdout>,
    last: Arc<Mutex<Value>>,
    reader: Option<JoinHandle<()>>,
}

impl Recorder {
    /// Starts a recorder of the shard on this port, and waits until it has a position.
    pub fn start(lab: &Lab, port: u16, options: &str) -> Self {
        let recorder = Self::spawn(lab, port, options);
        wait("the recorder", || recorder.last()["received"].is_u64());
        recorder
    }

    pub fn spawn(lab: &Lab, port: u16, options: &str) -> Self {
        let script = format!(
            "exec {} record --socket={port}/socket --user=default --segment-seconds=1 {options} --live-lines=3 3>&2 2>/dev/null",
            env!("CARGO_BIN_EXE_shardboard-mover")
        );
        let mut process = Command::new("sh")
            .args(["-c", &script])
            .current_dir(&lab.directory)
            .env("SHARDBOARD_MOVER_PASSWORD", PASSWORD)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let last = Arc::new(Mutex::new(Value::Null));
        let lines = BufReader::new(process.stderr.take().unwrap());
        let shared = Arc::clone(&last);
        let reader = std::thread::spawn(move || {
            for line in lines.lines() {
                *shared.lock().unwrap() = serde_json::from_str(&line.unwrap()).unwrap();
            }
        });
        Self {
            requests: process.stdin.take().unwrap(),
            output: BufReader::new(process.stdout.take().unwrap()),
            process,
            last,
            reader: Some(reader),
        }
    }

    /// The last line that was reported.
    pub fn last(&self) -> Value {
        self.last.lock().unwrap().clone()
    }

    /// Waits until the recorder has received what the shard has written. Returns a time after that, and
    /// before anything else that the shard writes.
    pub fn catch_up(&self, lab: &Lab, port: u16) -> u64 {
        let info = lab.ask(port, "INFO replication");
        let offset = info.lines().find_map(|line| line.strip_prefix("master_repl_offset:")).unwrap();
        let offset: u64 = offset.trim().parse().unwrap();
        wait("the changes", || self.last()["received"].as_u64().is_some_and(|received| received >= offset));
        let time = now_ms();
        wait("the next mark", || now_ms() > time + 10);
        time
    }

    pub fn request(&mut self, line: &str) {
        self.requests.write_all(format!("{line}\n").as_bytes()).unwrap();
    }

    /// Requests a file. `None`: there will be no other one.
    pub fn next(&mut self) -> Option<ChangeFile> {
        self.request("next");
        let mut header = String::new();
        self.output.read_line(&mut header).unwrap();
        if header.is_empty() {
            return None;
        }
        let header: Value = serde_json::from_str(&header).unwrap();
        let mut bytes = vec![0; header["bytes"].as_u64().unwrap() as usize];
        self.output.read_exact(&mut bytes).unwrap();
        Some(ChangeFile { header, bytes })
    }

    /// Stores all files until the recorder ends. Returns them and its last line.
    pub fn finish(mut self) -> (Vec<ChangeFile>, Value) {
        let mut files = Vec::new();
        while let Some(file) = self.next() {
            files.push(file);
            self.request("stored");
        }
        self.process.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        (files, self.last())
    }

    pub fn stop(mut self) -> (Vec<ChangeFile>, Value) {
        self.request("stop");
        self.finish()
    }

    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

pub fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis() as u64
}

/// The content of files as the mover reads it.
pub fn joined(files: &[ChangeFile]) -> Vec<u8> {
    files.iter().flat_map(|file| file.bytes.iter().copied()).collect()
}
