//! The files of segments. Disk space for an entire segment is allocated before it is written. A
//! full disk is therefore detected before a record is accepted, and one more segment can be
//! reserved for compaction.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

/// Mode of files.
pub const OWNER_ONLY: u32 = 0o600;

pub struct Segment {
    pub file: Arc<File>,
    /// The same file, opened for reads that bypass the page cache, if the file system supports
    /// this.
    pub direct: Arc<File>,
    path: PathBuf,
    pub size: u64,
}

impl Segment {
    /// Creates an empty file with allocated space of `room` bytes. An old file or link of that name
    /// is replaced, so that data is never written to a file that others can read.
    pub fn create(path: PathBuf, room: u64) -> io::Result<Self> {
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let file = OpenOptions::new().create_new(true).read(true).write(true).mode(OWNER_ONLY).open(&path)?;
        if let Err(error) = take_room(&file, room) {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        let file = Arc::new(file);
        let direct =
            OpenOptions::new().read(true).custom_flags(libc::O_DIRECT | libc::O_NOFOLLOW).open(&path);
        let direct = direct.map_or_else(|_| file.clone(), Arc::new);
        Ok(Self { file, direct, path, size: 0 })
    }

    pub fn renamed(self, path: PathBuf) -> io::Result<Self> {
        fs::rename(&self.path, &path)?;
        Ok(Self { path, ..self })
    }

    /// Releases unused space, because nothing more is written.
    pub fn close(&self) {
        let _ = self.file.set_len(self.size);
    }

    pub fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Allocates space without changing the length of the file. Some file systems cannot do this;
/// there, a lack of space is detected by a write.
fn take_room(file: &File, room: u64) -> io::Result<()> {
    // SAFETY: the descriptor is open.
    if unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, room as libc::off_t) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        Some(libc::EOPNOTSUPP | libc::ENOSYS | libc::EINVAL) => Ok(()),
        _ => Err(error),
    }
}

pub fn is_full(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EDQUOT | libc::EFBIG))
}
