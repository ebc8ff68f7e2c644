//! How a forked child reads the log: from memory into which the files are mapped, as a read for each of millions of records takes
//! a quarter of its time.
//!
//! Where a file cannot be read the child ends, by SIGBUS: a child that cannot save everything saves nothing, and what was saved
//! before stays.

use super::Place;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// From now on forked processes know that they are.
pub fn watch() {
    // SAFETY: the handler only stores, and lives as long as the module, which the server never unloads.
    unsafe { libc::pthread_atfork(None, None, Some(begin)) };
}

unsafe extern "C" fn begin() {
    IS_CHILD.store(true, Relaxed);
}

pub fn is_child() -> bool {
    IS_CHILD.load(Relaxed)
}

/// Segments of the log by number, mapped until the child ends.
#[derive(Default)]
pub struct Maps(HashMap<u32, &'static [u8]>);

impl Maps {
    /// A record in a file of which so many bytes are written; None where it cannot be mapped.
    pub fn record(&mut self, file: &File, written: u64, place: Place) -> Option<&'static [u8]> {
        let segment = match self.0.get(&place.segment()) {
            Some(segment) => segment,
            None => self.0.entry(place.segment()).or_insert(map(file, written as usize)?),
        };
        segment.get(place.offset() as usize..(place.offset() + place.length()) as usize)
    }
}

fn map(file: &File, length: usize) -> Option<&'static [u8]> {
    if length == 0 {
        return None;
    }
    // SAFETY: a new mapping that is never taken away. The log only appends to its files, and no more is seen of them than was written
    // before the fork; where one is shorter by now, or cannot be read, the child ends at its first look.
    unsafe {
        libc::signal(libc::SIGBUS, give_up as *const () as libc::sighandler_t);
        let start = libc::mmap(null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        (start != libc::MAP_FAILED).then(|| std::slice::from_raw_parts(start.cast(), length))
    }
}

extern "C" fn give_up(_: libc::c_int) {
    const WHY: &[u8] = b"tier: a segment on flash cannot be read; nothing is saved\n";
    // SAFETY: both may be called from a signal handler.
    unsafe {
        libc::write(libc::STDERR_FILENO, WHY.as_ptr().cast(), WHY.len());
        libc::_exit(1);
    }
}
