//! Asynchronous reads of files with io_uring, submitted once per event loop iteration.
//!
//! Reads are queued while commands run. Reads queued after the submission, by pipelined requests
//! that continue after an earlier one was answered, wake the event loop immediately, so that they
//! are submitted together as well.

use io_uring::{IoUring, opcode, types};
use std::alloc::{self, Layout};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Alignment that O_DIRECT requires for offsets and buffers.
pub const ALIGN: usize = 4096;
const ENTRIES: u32 = 256;
const MOST: usize = 4096;
/// Size of buffers that are kept for reuse.
const USUAL: usize = 2 * ALIGN;
const SPARE: usize = 256;

struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
}

impl Buffer {
    fn new(length: usize) -> Self {
        let layout = Layout::from_size_align(length, ALIGN).expect("lengths of reads are small");
        // SAFETY: the length is not 0.
        let start = NonNull::new(unsafe { alloc::alloc(layout) });
        Self { start: start.unwrap_or_else(|| alloc::handle_alloc_error(layout)), layout }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout.
        unsafe { alloc::dealloc(self.start.as_ptr(), self.layout) }
    }
}

struct Read<T> {
    token: T,
    file: Arc<File>,
    buffer: Buffer,
    offset: u64,
    skip: usize,
    length: usize,
    began: Instant,
}

/// Reads in flight, each with a token of its owner.
pub struct Ring<T> {
    ring: IoUring,
    event: OwnedFd,
    reads: Vec<Option<Read<T>>>,
    free: Vec<usize>,
    /// Reads that have not been submitted yet.
    queue: Vec<usize>,
    spare: Vec<Buffer>,
    is_late: bool,
    is_woken: bool,
}

impl<T> Ring<T> {
    /// Fails if the kernel or the restrictions of a container do not allow io_uring.
    pub fn new() -> io::Result<Self> {
        // The completion queue has space for all reads in flight. Otherwise the kernel would hold
        // back completions.
        let ring = IoUring::builder().setup_cqsize(MOST as u32).build(ENTRIES)?;
        // SAFETY: creates a descriptor that is owned here.
        let event = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if event < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        let event = unsafe { OwnedFd::from_raw_fd(event) };
        ring.submitter().register_eventfd(event.as_raw_fd())?;
        Ok(Self {
            ring,
            event,
            reads: Vec::new(),
            free: Vec::new(),
            queue: Vec::new(),
            spare: Vec::new(),
            is_late: false,
            is_woken: false,
        })
    }

    /// Readable when reads have completed or were queued after a submission.
    pub fn event(&self) -> RawFd {
        self.event.as_raw_fd()
    }

    pub fn in_flight(&self) -> usize {
        self.reads.len() - self.free.len()
    }

    /// Whether the maximum number of reads is in flight.
    pub fn is_full(&self) -> bool {
        self.in_flight() >= MOST
    }

    /// Queues a read of `length` bytes.
    pub fn read(&mut self, file: Arc<File>, offset: u64, length: usize, token: T) {
        let skip = offset as usize % ALIGN;
        let size = (skip + length).next_multiple_of(ALIGN).max(USUAL);
        let buffer = if size == USUAL { self.spare.pop() } else { None };
        let buffer = buffer.unwrap_or_else(|| Buffer::new(size));
        let offset = offset - skip as u64;
        let read = Read { token, file, buffer, offset, skip, length, began: Instant::now() };
        let index = self.free.pop().unwrap_or_else(|| {
            self.reads.push(None);
            self.reads.len() - 1
        });
        self.reads[index] = Some(read);
        self.queue.push(index);
        if self.is_late && !self.is_woken {
            self.is_woken = true;
            self.wake();
        }
    }

    /// Ends the next wait of the event loop immediately.
    fn wake(&self) {
        // SAFETY: writes eight bytes to an owned descriptor; if the counter is full, the descriptor
        // is readable anyway.
        unsafe { libc::write(self.event(), ONE.as_ptr().cast(), ONE.len()) };
    }

    /// Called when an event loop iteration starts.
    pub fn start_iteration(&mut self) {
        self.is_late = false;
    }

    /// Submits queued reads. Reads that the kernel does not accept now are submitted in the next
    /// iteration.
    pub fn submit(&mut self) {
        self.is_late = true;
        while let Some(&index) = self.queue.last() {
            let read = self.reads[index].as_ref().expect("a queued read exists");
            let length = (read.skip + read.length).next_multiple_of(ALIGN);
            let start = read.buffer.start.as_ptr();
            let entry = opcode::Read::new(types::Fd(read.file.as_raw_fd()), start, length as u32)
                .offset(read.offset)
                .build()
                .user_data(index as u64);
            // SAFETY: buffer and file live in `reads` until the read has completed.
            if unsafe { self.ring.submission().push(&entry) }.is_ok() {
                self.queue.pop();
            } else if self.ring.submit().is_err() {
                break;
            }
        }
        let submitted = self.ring.submission().is_empty() || self.ring.submit().is_ok();
        if !submitted || !self.queue.is_empty() {
            self.wake();
        }
    }

    /// Passes completed reads to `each`: token, bytes and duration.
    pub fn complete_reads(&mut self, mut each: impl FnMut(T, io::Result<&[u8]>, Duration)) {
        let mut count = 0u64;
        // SAFETY: reads eight bytes; there may be none.
        unsafe { libc::read(self.event(), (&raw mut count).cast(), 8) };
        self.is_woken = false;
        loop {
            let Some(done) = self.ring.completion().next() else { break };
            let index = done.user_data() as usize;
            let Some(read) = self.reads[index].take() else { continue };
            self.free.push(index);
            let result = done.result();
            let expected = read.skip + read.length;
            let bytes = if result < 0 {
                Err(io::Error::from_raw_os_error(-result))
            } else if (result as usize) < expected {
                Err(io::ErrorKind::UnexpectedEof.into())
            } else {
                // SAFETY: the kernel has written that many bytes.
                Ok(unsafe {
                    std::slice::from_raw_parts(read.buffer.start.as_ptr().add(read.skip), read.length)
                })
            };
            each(read.token, bytes, read.began.elapsed());
            if read.buffer.layout.size() == USUAL && self.spare.len() < SPARE {
                self.spare.push(read.buffer);
            }
        }
    }
}

/// Value that is written to an eventfd.
const ONE: [u8; 8] = 1u64.to_ne_bytes();

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(content: &[u8]) -> Arc<File> {
        let path = std::env::temp_dir().join(format!("tier-ring-{}-{}", std::process::id(), content.len()));
        File::create(&path).and_then(|mut file| file.write_all(content)).expect("a writable directory");
        let file = File::open(&path).expect("just written");
        std::fs::remove_file(path).expect("ours");
        Arc::new(file)
    }

    /// Reads like the event loop.
    fn read_all<T>(ring: &mut Ring<T>, count: usize, mut each: impl FnMut(T, io::Result<&[u8]>)) {
        let mut seen = 0;
        ring.submit();
        while seen < count {
            assert!(is_readable(ring, 60_000), "a read does not complete");
            ring.complete_reads(|token, bytes, _| {
                seen += 1;
                each(token, bytes);
            });
            ring.submit();
        }
    }

    fn is_readable<T>(ring: &Ring<T>, within_ms: i32) -> bool {
        let mut poll = libc::pollfd { fd: ring.event(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one structure of ours.
        unsafe { libc::poll(&mut poll, 1, within_ms) == 1 }
    }

    #[test]
    fn each_read_returns_its_bytes_and_its_token() {
        let Ok(mut ring) = Ring::new() else { return };
        let content: Vec<u8> = (0..100_000u32).map(|at| (at * 7 % 251) as u8).collect();
        let file = file(&content);
        for at in 0..1000usize {
            ring.read(file.clone(), at as u64 * 97, at % 3000 + 1, at);
        }
        let mut seen = vec![false; 1000];
        read_all(&mut ring, 1000, |at, bytes| {
            assert_eq!(bytes.expect("readable"), &content[at * 97..at * 97 + at % 3000 + 1]);
            assert!(!std::mem::replace(&mut seen[at], true));
        });
        assert!(seen.iter().all(|&seen| seen));
        assert_eq!(ring.in_flight(), 0);
    }

    #[test]
    fn reads_beyond_the_end_fail_and_the_number_of_reads_is_limited() {
        let Ok(mut ring) = Ring::new() else { return };
        let file = file(b"short");
        for at in 0..MOST {
            assert!(!ring.is_full());
            ring.read(file.clone(), 3, 100, at);
        }
        assert!(ring.is_full());
        read_all(&mut ring, MOST, |_, bytes| assert!(bytes.is_err()));
    }

    #[test]
    fn a_read_after_the_submission_wakes_the_event_loop() {
        let Ok(mut ring) = Ring::new() else { return };
        let file = file(b"some bytes");
        ring.start_iteration();
        ring.read(file.clone(), 0, 4, 1);
        assert!(!is_readable(&ring, 0));
        read_all(&mut ring, 1, |_, _| ());
        ring.read(file, 0, 4, 2);
        assert!(is_readable(&ring, 0));
        read_all(&mut ring, 1, |token, bytes| {
            assert_eq!((token, bytes.expect("readable")), (2, &b"some"[..]))
        });
    }
}
