//! Reads of the log in a forked child, from mapped files: a read call for each of millions of
//! records would take a quarter of its time.
//!
//! If a file cannot be read, the child ends with SIGBUS. A child that cannot save all values saves
//! nothing, so that the previous file remains.

use super::Place;
use std::collections::HashMap;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Registers a handler by which forked processes detect that they are children.
pub fn watch() {
    // SAFETY: the handler only stores a flag, and lives as long as the module, which the server
    // never unloads.
    unsafe { libc::pthread_atfork(None, None, Some(begin)) };
}

unsafe extern "C" fn begin() {
    IS_CHILD.store(true, Relaxed);
}

pub fn is_child() -> bool {
    IS_CHILD.load(Relaxed)
}

/// Mapped segments of the log by number, until the child ends.
#[derive(Default)]
pub struct Maps(HashMap<u32, &'static [u8]>);

impl Maps {
    /// Returns a record in a file with `written` bytes, or `None` if the file cannot be mapped.
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
    // SAFETY: a new mapping that is never removed. The log only appends to its files, and the
    // mapping covers only bytes written before the fork. If a file is shorter now or cannot be
    // read, the first access ends the child.
    unsafe {
        libc::signal(libc::SIGBUS, give_up as *const () as libc::sighandler_t);
        let start = libc::mmap(null_mut(), length, libc::PROT_READ, libc::MAP_SHARED, file.as_raw_fd(), 0);
        (start != libc::MAP_FAILED).then(|| std::slice::from_raw_parts(start.cast(), length))
    }
}

extern "C" fn give_up(_: libc::c_int) {
    const WHY: &[u8] = b"tier: a segment on flash cannot be read; nothing is saved\n";
    // SAFETY: both functions may be called from a signal handler.
    unsafe {
        libc::write(libc::STDERR_FILENO, WHY.as_ptr().cast(), WHY.len());
        libc::_exit(1);
    }
}
