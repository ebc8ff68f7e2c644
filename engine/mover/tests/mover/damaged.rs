//! Damaged files: no panic, no large allocation, and no endless loop.

use crate::dataset::Commands;
use crate::lab::Lab;
use mover::digest::ValueDigest;
use mover::error::{Code, Result};
use mover::rdb::input::Input;
use mover::rdb::{Event, Reader, crc64};
use mover::slots::SlotSet;
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Reads a complete file and returns the number of keys.
fn read(file: &[u8]) -> Result<u64> {
    let mut reader = Reader::new(Input::new(Box::new(file), None), SlotSet::all())?;
    let mut keys = 0;
    loop {
        match reader.next_event()? {
            Event::Key(entry) => {
                reader.read_value(&entry, &mut ValueDigest::new(entry.value.kind))?;
                keys += 1;
            }
            Event::Function(_) => {}
            Event::End => return Ok(keys),
        }
    }
}

fn damage(file: &mut Vec<u8>, random: &mut SmallRng) {
    for _ in 0..random.random_range(1..4) {
        let at = random.random_range(0..file.len());
        match random.random_range(0..6) {
            0 => file.truncate(at.max(1)),
            1 => file[at] ^= 1 << random.random_range(0..8),
            2 => file[at] = random.random(),
            3 => {
                // A large length.
                let length = [&[0x81][..], &(u64::MAX >> random.random_range(0..60)).to_be_bytes()].concat();
                file.splice(at..at, length);
            }
            4 => {
                let end = (at + random.random_range(0..50)).min(file.len());
                file.drain(at..end);
            }
            _ => {
                let value = random.random::<u32>() >> random.random_range(0..32);
                let end = (at + 4).min(file.len());
                file[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
            }
        }
        if file.is_empty() {
            file.push(0);
        }
    }
}

#[test]
fn damaged_files_are_rejected() {
    let mut lab = Lab::new();
    lab.shard(7000, &["--list-max-listpack-size", "4"]);
    let rounds = if std::env::var_os("SHARDBOARD_THOROUGH").is_some() { 50_000 } else { 2_000 };
    let mut files = Vec::new();
    for (seed, compression) in [(1, "yes"), (2, "no")] {
        lab.ask(7000, &format!("CONFIG SET rdbcompression {compression}"));
        lab.ask(7000, "FLUSHALL");
        lab.ask(7000, "FUNCTION FLUSH");
        lab.fill(7000, &Commands::new(seed).random(18));
        let taken = lab.snapshot(7000, "0-16383", "none");
        files.push(taken.output.clone());
        taken.end();
    }
    for file in &files {
        assert_eq!(read(file).unwrap(), 18);
    }
    let mut accepted = 0;
    for seed in 0..rounds {
        let mut random = SmallRng::seed_from_u64(seed);
        let mut file = files[seed as usize % files.len()].clone();
        damage(&mut file, &mut random);
        if files.contains(&file) {
            continue;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| read(&file)));
        let outcome = outcome.unwrap_or_else(|_| panic!("seed {seed} causes a panic"));
        match outcome {
            Ok(_) => accepted += 1,
            Err(error) => {
                assert!(matches!(error.code, Code::FileCorrupted | Code::General), "seed {seed}: {error}")
            }
        }
    }
    // Only a checksum of 0, which means that there is none, hides damage.
    assert!(accepted <= rounds / 10_000, "{accepted} damaged files were accepted");
}

/// Damage with a valid checksum is found by the parsers of values, or changes data.
#[test]
fn every_value_is_checked() {
    let types = [9u8, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 7, 22, 3, 5];
    let rounds = if std::env::var_os("SHARDBOARD_THOROUGH").is_some() { 1_000_000 } else { 20_000 };
    for seed in 0..rounds {
        let mut random = SmallRng::seed_from_u64(seed);
        let code = types[seed as usize % types.len()];
        let mut body: Vec<u8> = (0..random.random_range(0..60))
            .map(|_| if random.random() { random.random_range(0..12) } else { random.random() })
            .collect();
        if body.len() > 12 && random.random() {
            // A packed value with a correct length in its header.
            let length = body.len() as u32 - 1;
            body[0] = length as u8;
            body[1..5].copy_from_slice(&length.to_le_bytes());
            *body.last_mut().unwrap() = 0xff;
        }
        let mut file = [b"VALKEY080", &[code, 1, b'k'][..], &body, &[0xff]].concat();
        file.extend(crc64::update(0, &file).to_le_bytes());
        let outcome = catch_unwind(AssertUnwindSafe(|| read(&file)));
        assert!(outcome.is_ok(), "seed {seed} causes a panic");
    }
}

/// Repeats some bytes.
struct Endless(&'static [u8]);

impl std::io::Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let some = buffer.len() / self.0.len() * self.0.len();
        buffer[..some].chunks_mut(self.0.len()).for_each(|chunk| chunk.copy_from_slice(self.0));
        Ok(some)
    }
}

/// A small file that announces or unpacks to much more must not use much memory.
#[test]
fn announced_lengths_are_not_allocated() {
    let huge = [0x81, 0, 0, 1, 0, 0, 0, 0, 0];
    for code in [0u8, 1, 2, 4, 5, 10, 11, 16, 18, 21] {
        let file = [b"VALKEY080", &[code, 1, b'k'][..], &huge, &huge, b"abc"].concat();
        assert_eq!(read(&file).unwrap_err().code, Code::FileCorrupted, "{code}");
        let compressed = [b"VALKEY080", &[code, 1, b'k', 0xc3][..], &huge, &huge, &[0; 64]].concat();
        assert_eq!(read(&compressed).unwrap_err().code, Code::FileCorrupted, "{code}");
    }
    // Without an end.
    let endless: [&[u8]; 4] = [&[249, 1], &[252; 9], &[245, 1, b'x'], &[243, 1, 0, 0, 0, 0, 2, 7]];
    for record in endless {
        let source = std::io::Read::chain(&b"REDIS0012"[..], Endless(record));
        let mut reader = Reader::new(Input::new(Box::new(source), None), SlotSet::all()).unwrap();
        let mut statistics = mover::statistics::Statistics::default();
        let error = loop {
            match reader.next_event() {
                Ok(Event::Function(code)) => match statistics.add_function(&code) {
                    Ok(()) => {}
                    Err(error) => break error,
                },
                Ok(_) => panic!("there is no key"),
                Err(error) => break error,
            }
        };
        assert_eq!(error.code, Code::FileCorrupted, "{record:?}");
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 1_000_000, "{peak} kB");
}
