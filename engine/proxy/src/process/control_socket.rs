//! Ownership of the control path. Processes that start at the same time wait for each other: each
//! takes over from the previous one, and only the last one stays. Without this, an agent that was
//! killed just after it had started a process, and restarted before that process listened, would
//! leave behind an unreachable process.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longer than the lock holder may wait for its predecessor.
const PATIENCE: Duration = Duration::from_secs(8);
const STEP: Duration = Duration::from_millis(5);

/// While it is held, no other process searches for a predecessor or starts to listen at the path.
pub(super) struct StartupLock(#[expect(dead_code, reason = "closing the file releases the lock")] File);

pub(super) fn acquire_startup_lock(path: &Path) -> io::Result<StartupLock> {
    let lock = lock_beside(path)?;
    let until = Instant::now() + PATIENCE;
    loop {
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(StartupLock(lock)),
            Err(Errno::WOULDBLOCK) if Instant::now() < until => std::thread::sleep(STEP),
            Err(Errno::WOULDBLOCK) => {
                let message =
                    format!("another process has held the startup lock for {} s", PATIENCE.as_secs());
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

/// The control socket of this process.
pub(super) struct ControlSocket {
    path: PathBuf,
    inode: u64,
}

impl ControlSocket {
    /// Creates the socket. Only the user of this process may connect.
    pub(super) fn take(path: &Path) -> io::Result<(UnixListener, Self)> {
        // Bound to a temporary name first: a client that connects to the path always reaches either
        // the old or the new process.
        let beside = path.with_extension("new");
        let _ = std::fs::remove_file(&beside);
        let listener = UnixListener::bind(&beside)?;
        std::fs::set_permissions(&beside, PermissionsExt::from_mode(0o600))?;
        let inode = std::fs::metadata(&beside)?.ino();
        std::fs::rename(&beside, path)?;
        Ok((listener, Self { path: path.to_owned(), inode }))
    }

    /// Removes the socket, unless another process owns the path or is about to.
    pub(super) fn remove(&self) -> io::Result<()> {
        let lock = lock_beside(&self.path)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok()
            && std::fs::metadata(&self.path)?.ino() == self.inode
        {
            std::fs::remove_file(&self.path)?;
        }
        Ok(())
    }
}
