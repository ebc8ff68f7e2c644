//! The files of segments. Room on the disk is taken for a whole segment before anything is written there: so a disk that is full is
//! noticed where nothing has been promised yet, and one more segment can be held back for compaction.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;

pub struct Segment {
    pub file: Arc<File>,
    /// The same for reads past the page cache, where the file system knows that.
    pub direct: Arc<File>,
    path: PathBuf,
    pub size: u64,
}

impl Segment {
    /// An empty file for which so many bytes are free; what a failing disk has left there under that name is gone.
    pub fn create(path: PathBuf, room: u64) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).truncate(true).read(true).write(true).open(&path)?;
        if let Err(error) = take_room(&file, room) {
            let _ = fs::remove_file(&path);
            return Err(error);
        }
        let file = Arc::new(file);
        let direct = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(&path);
        let direct = direct.map_or_else(|_| file.clone(), Arc::new);
        Ok(Self { file, direct, path, size: 0 })
    }

    pub fn renamed(self, path: PathBuf) -> io::Result<Self> {
        fs::rename(&self.path, &path)?;
        Ok(Self { path, ..self })
    }

    /// Nothing more will be written: gives back the room that is left.
    pub fn close(&self) {
        let _ = self.file.set_len(self.size);
    }

    pub fn remove(&self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// The file's length stays as it is. Some file systems cannot promise room; there a write finds out.
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
