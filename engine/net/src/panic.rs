//! Panic handling for a process with several threads.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_SURVIVED: Cell<bool> = const { Cell::new(false) };
}

/// Makes a panic in any thread abort the process after the panic has been reported on standard
/// error, because data that the thread shared with others may be inconsistent. Within [`catch`],
/// a panic is only reported. The build setting for this (`panic = "abort"`) would require compiling
/// every crate a second time for the tests.
pub fn abort_on_panic() {
    let report = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        report(panic);
        if !IS_SURVIVED.get() {
            std::process::abort();
        }
    }));
}

/// Runs `run` without aborting the process if it panics. Returns `None` after a panic. The caller
/// must then discard the data that `run` used, because it may be inconsistent.
pub fn catch<T>(run: impl FnOnce() -> T) -> Option<T> {
    IS_SURVIVED.set(true);
    let outcome = catch_unwind(AssertUnwindSafe(run));
    IS_SURVIVED.set(false);
    outcome.ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    const SIGABRT: i32 = 6;

    #[test]
    fn a_panic_in_one_thread_aborts_the_process() {
        let me = std::env::current_exe().unwrap();
        let child = Command::new(me)
            .args(["--ignored", "--exact", "--nocapture", "panic::tests::child_process"])
            .output()
            .unwrap();
        assert_eq!(child.status.signal(), Some(SIGABRT), "{child:?}");
        let stderr = String::from_utf8_lossy(&child.stderr);
        assert!(stderr.contains("survived") && stderr.contains("a thread of two"), "{stderr}");
        assert!(String::from_utf8_lossy(&child.stdout).contains("still there"), "{child:?}");
    }

    #[test]
    #[ignore = "it aborts the process: the test above runs it in a child process"]
    fn child_process() {
        super::abort_on_panic();
        assert!(super::catch(|| panic!("survived")).is_none());
        assert_eq!(super::catch(|| 1), Some(1));
        println!("still there");
        let _ = std::thread::spawn(|| panic!("a thread of two")).join();
    }
}
