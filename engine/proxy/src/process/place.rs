//! The control path, and whose it is. Processes that are started at the same time come one after the other: each finds the
//! one before it, takes over from it, and only the last one stays. Without that an agent that was killed just after it had
//! started a process, and was started again before that one listened, would leave one behind that nobody reaches.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longer than who has the turn may wait for its predecessor.
const PATIENCE: Duration = Duration::from_secs(8);
const STEP: Duration = Duration::from_millis(5);

/// Nobody else looks for a predecessor or listens at the path until this is dropped.
pub(super) struct Turn(#[expect(dead_code, reason = "closing the file ends the turn")] File);

pub(super) fn turn(path: &Path) -> io::Result<Turn> {
    let lock = lock_beside(path)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(Turn(lock)),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(STEP),
            Err(Errno::WOULDBLOCK) => {
                let message = format!("another process has been starting here for {} s", PATIENCE.as_secs());
                return Err(io::Error::new(io::ErrorKind::AddrInUse, message));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

fn lock_beside(path: &Path) -> io::Result<File> {
    let lock = path.with_extension("lock");
    File::options().create(true).truncate(false).write(true).mode(0o600).open(lock)
}

/// Where this process listens.
pub(super) struct Place {
    path: PathBuf,
    inode: u64,
}

impl Place {
    /// Only this user may connect.
    pub(super) fn take(path: &Path) -> io::Result<(UnixListener, Self)> {
        // Beside it first: whoever connects to the path finds either the old process or this one, never nothing.
        let beside = path.with_extension("new");
        let _ = std::fs::remove_file(&beside);
        let listener = UnixListener::bind(&beside)?;
        std::fs::set_permissions(&beside, PermissionsExt::from_mode(0o600))?;
        let inode = std::fs::metadata(&beside)?.ino();
        std::fs::rename(&beside, path)?;
        Ok((listener, Self { path: path.to_owned(), inode }))
    }

    /// Nothing is left there, unless it is another process's by now or about to be.
    pub(super) fn leave(&self) -> io::Result<()> {
        let lock = lock_beside(&self.path)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
            && std::fs::metadata(&self.path)?.ino() == self.inode
        {
            std::fs::remove_file(&self.path)?;
        }
        Ok(())
    }
}
