use super::place::{MAX_SEGMENT, SEGMENTS, UNIT};
use super::record::{HEADER, parse};
use super::*;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

fn record(key: &[u8], value: &[u8]) -> (PathBuf, Log, Place) {
    static COUNT: AtomicI64 = AtomicI64::new(0);
    let name = format!("tier-log-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
    let path = std::env::temp_dir().join(name);
    let mut log = Log::open(&path, 4096, 0).expect("a log");
    let place = log.append(1, 3, key, value).expect("a record");
    (path, log, place)
}

#[test]
fn a_record_is_read_back_before_and_after_it_is_written() {
    let (path, mut log, place) = record(b"key", b"value");
    assert_eq!(log.read(place, b"key").expect("pending"), b"value");
    log.flush();
    assert_eq!(log.read(place, b"key").expect("written"), b"value");
    assert!(matches!(log.read(place, b"other"), Err(ReadError::Checksum)));
    drop(log);
    fs::remove_dir_all(path).expect("removed");
}

#[test]
fn every_flipped_bit_and_every_truncation_is_detected() {
    let (path, log, place) = record(b"key", b"value");
    let bytes = log.pending.clone();
    for bit in 0..(HEADER + 8) * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(parse(log.secret, place, &flipped).is_none(), "bit {bit}");
    }
    for length in 0..HEADER + 8 {
        assert!(parse(log.secret, place, &bytes[..length]).is_none(), "length {length}");
    }
    drop(log);
    fs::remove_dir_all(path).expect("removed");
}

#[test]
fn a_place_fits_a_word() {
    let place = Place::new(4, 0x1f_ffff, MAX_SEGMENT - UNIT, 65);
    let found = (place.kind(), place.segment(), place.offset(), place.length());
    assert_eq!(found, (4, 0x1f_ffff, MAX_SEGMENT - UNIT, 128));
}

#[test]
fn the_longest_record_has_a_length_that_fits_a_word() {
    let path = std::env::temp_dir().join(format!("tier-log-{}-longest", std::process::id()));
    let mut log = Log::open(&path, MAX_SEGMENT, 0).expect("a log");
    let most = (MAX_SEGMENT - UNIT) as usize - HEADER;
    assert!(log.fits(3, most - 3));
    assert!(!log.fits(3, most - 2));
    assert!(log.append(1, 0, b"key", &vec![0; most - 2]).is_none());
    assert_eq!(Place::new(1, 0, 0, MAX_SEGMENT - UNIT).length(), MAX_SEGMENT - UNIT);
    drop(log);
    fs::remove_dir_all(path).expect("removed");
}

#[test]
fn a_full_log_with_released_records_accepts_others_without_a_tick() {
    let path = std::env::temp_dir().join(format!("tier-log-{}-full", std::process::id()));
    let mut log = Log::open(&path, 4096, 4 * 4096).expect("a log");
    // Live bytes are counted per process, so each test uses its own segment numbers.
    log.next = 1000;
    let value = [0; 1000];
    let places: Vec<Place> = std::iter::from_fn(|| log.append(1, 0, b"key", &value)).collect();
    assert_eq!(log.state(), State::Full);
    log.retry();
    assert_eq!(log.state(), State::Full, "all records are live");
    places.into_iter().for_each(Place::release);
    log.retry();
    assert!(log.append(1, 0, b"key", &value).is_some());
    drop(log);
    fs::remove_dir_all(path).expect("removed");
}

#[test]
fn a_directory_has_one_owner() {
    let (path, log, _) = record(b"key", b"value");
    assert!(Log::open(&path, 4096, 0).is_err());
    drop(log);
    fs::remove_dir_all(path).expect("removed");
}

#[test]
fn files_are_readable_only_by_their_owner() {
    let (path, mut log, _) = record(b"key", b"value");
    log.flush();
    assert_eq!(fs::metadata(&path).expect("made").permissions().mode() & 0o777, 0o700);
    let files: Vec<_> =
        fs::read_dir(&path).expect("made").map(|entry| entry.expect("readable").path()).collect();
    assert!(files.len() >= 3, "lock, reserve and segment: {files:?}");
    for file in files {
        assert_eq!(fs::metadata(&file).expect("a file").permissions().mode() & 0o777, 0o600, "{file:?}");
    }
    drop(log);
    fs::remove_dir_all(path).expect("removed");
}

#[test]
fn links_are_replaced_and_not_followed() {
    let (path, log, _) = record(b"key", b"value");
    drop(log);
    let victim = path.with_extension("victim");
    fs::write(&victim, "kept").expect("written");
    let link = |name: &str| {
        let _ = fs::remove_file(path.join(name));
        symlink(&victim, path.join(name)).expect("a link");
    };
    link("tier.lock");
    assert!(Log::open(&path, 4096, 0).is_err());
    fs::remove_file(path.join("tier.lock")).expect("removed");
    link("7.segment");
    let mut log = Log::open(&path, 4096, 0).expect("a log");
    assert!(!path.join("7.segment").is_symlink(), "removed with the files of earlier processes");
    log.next = 5000;
    link("5000.segment");
    link("reserve.segment");
    let place = log.append(1, 3, b"key", b"value").expect("a record");
    log.flush();
    assert_eq!(log.read(place, b"key").expect("written"), b"value");
    assert_eq!(fs::read_to_string(&victim).expect("readable"), "kept");
    assert!(!path.join("5000.segment").is_symlink() && !path.join("reserve.segment").is_symlink());
    drop(log);
    fs::remove_file(victim).expect("removed");
    fs::remove_dir_all(path).expect("removed");
}

#[test]
fn a_new_segment_contains_no_data_of_others() {
    let (path, mut log, _) = record(b"key", b"value");
    let (victim, segment) = (path.with_extension("other"), path.join("6000.segment"));
    fs::write(&victim, "secret ".repeat(1000)).expect("written");
    fs::hard_link(&victim, &segment).expect("a link");
    log.next = 6000;
    log.flush();
    log.active = None;
    log.append(1, 3, b"key", b"value").expect("a record");
    log.flush();
    let content = fs::read(&segment).expect("readable");
    assert!(content.windows(5).any(|bytes| bytes == b"value"));
    assert!(!content.windows(6).any(|bytes| bytes == b"secret"));
    assert_eq!(fs::read_to_string(&victim).expect("readable"), "secret ".repeat(1000));
    drop(log);
    fs::remove_file(victim).expect("removed");
    fs::remove_dir_all(path).expect("removed");
}

#[test]
fn an_unchanged_value_needs_no_new_record() {
    let (path, mut log, place) = record(b"key", b"value");
    for (key, value) in [(&b"key"[..], &b"other"[..]), (b"key", b"valu"), (b"another", b"value")] {
        log.remember_record(place, 3, b"key", b"value");
        assert!(log.reuse_record(1, 3, key, value).is_none());
        log.clean.clear();
    }
    for (kind, database) in [(2, 3), (1, 4)] {
        log.remember_record(place, 3, b"key", b"value");
        assert!(log.reuse_record(kind, database, b"key", b"value").is_none());
        log.clean.clear();
    }
    log.remember_record(place, 3, b"key", b"value");
    assert_eq!(log.reuse_record(1, 3, b"key", b"value"), Some(place));
    assert!(log.reuse_record(1, 3, b"key", b"value").is_none(), "once");
    drop(log);
    fs::remove_dir_all(path).expect("removed");
}

#[test]
fn a_record_of_a_removed_segment_is_not_reused() {
    let path = std::env::temp_dir().join(format!("tier-log-{}-left", std::process::id()));
    let mut log = Log::open(&path, 4096, 0).expect("a log");
    // Live bytes are counted per process, so each test uses its own segment numbers.
    log.next = 2000;
    let place = log.append(1, 0, b"key", b"value").expect("a record");
    place.release();
    log.remember_record(place, 0, b"key", b"value");
    while log.active == Some(2000) {
        log.append(1, 0, b"filler", &[0; 1000]).expect("a record").release();
    }
    log.remove_empty();
    assert!(log.reuse_record(1, 0, b"key", b"value").is_none());

    // When segment numbers start again, remembered records are invalid.
    let place = log.append(1, 0, b"key", b"value").expect("a record");
    log.remember_record(place, 0, b"key", b"value");
    log.next = SEGMENTS as u32;
    log.start_segment(space::DEMOTION).expect("space for a segment");
    assert!(log.active.expect("started") < 2000);
    assert!(log.reuse_record(1, 0, b"key", b"value").is_none());
    drop(log);
    fs::remove_dir_all(path).expect("removed");
}

/// Runs `act` in a forked process and returns its exit code.
fn in_child(act: impl FnOnce() -> bool) -> i32 {
    // SAFETY: the child does the same as a saving child of the server, and exits afterwards.
    unsafe {
        let child = libc::fork();
        if child == 0 {
            libc::_exit(if act() { 0 } else { 2 });
        }
        let mut status = 0;
        assert_eq!(libc::waitpid(child, &mut status, 0), child);
        libc::WEXITSTATUS(status)
    }
}

#[test]
fn a_forked_child_reads_all_records_and_exits_if_it_cannot() {
    let path = std::env::temp_dir().join(format!("tier-log-{}-child", std::process::id()));
    let mut log = Log::open(&path, 1 << 20, 0).expect("a log");
    let value = |number: usize| vec![number as u8; 900 + number % 200];
    let key = |number: usize| format!("key {number}").into_bytes();
    let places: Vec<Place> =
        (0..3000).map(|number| log.append(1, 0, &key(number), &value(number)).expect("space")).collect();
    let read_all = |log: &mut Log| {
        (0..3000).rev().all(|number| {
            log.read(places[number], &key(number)).is_ok_and(|found| found == value(number))
                && log.read(places[number], b"another").is_err()
        })
    };
    assert_eq!(in_child(|| read_all(&mut log)), 0);
    assert!(read_all(&mut log));
    let first = path.join(format!("{}.segment", places[0].segment()));
    OpenOptions::new().write(true).open(first).and_then(|file| file.set_len(0)).expect("ours");
    assert_eq!(in_child(|| read_all(&mut log)), 1);
    drop(log);
    fs::remove_dir_all(path).expect("removed");
}

#[test]
fn the_last_segment_below_the_limit_is_reserved_for_compaction() {
    let path = std::env::temp_dir().join(format!("tier-log-{}-moves", std::process::id()));
    let mut log = Log::open(&path, 4096, 4 * 4096).expect("a log");
    // Live bytes are counted per process, so each test uses its own segment numbers.
    log.next = 3000;
    let value = [0; 1000];
    let places: Vec<Place> = std::iter::from_fn(|| log.append(1, 0, b"key", &value)).collect();
    let (dead, moved) = places.split_at(places.len() - 1);
    dead[..2].iter().for_each(|place| place.release());
    let moved_to = log.append_moved(1, 0, b"key", &value).expect("space for compaction");
    assert!(moved_to.segment() > moved[0].segment());
    log.retry();
    assert_eq!(log.state(), State::Full);
    assert!(log.append(1, 0, b"key", &value).is_none(), "compaction may need the rest");
    assert!(log.append_moved(1, 0, b"key", &value).is_some());
    dead[2..].iter().for_each(|place| place.release());
    log.retry();
    assert_eq!(log.state(), State::Ok);
    assert!(log.append(1, 0, b"key", &value).is_some());
    drop(log);
    assert_eq!(fs::read_dir(&path).expect("ours").count(), 1, "only the lock is left");
    fs::remove_dir_all(path).expect("removed");
}
