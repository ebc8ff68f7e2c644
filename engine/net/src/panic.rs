//! What a panic does to a process of several threads.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    static IS_SURVIVED: Cell<bool> = const { Cell::new(false) };
}

/// From now on a panic in any thread ends the process, after it has been told on standard error: what the thread shared
/// with others is in no known state. Within [`survive`] it is only told. The build's own setting for that
/// (`panic = "abort"`) would have every crate compiled a second time for the tests.
pub fn ends_the_process() {
    let tell = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        tell(panic);
        if !IS_SURVIVED.get() {
            std::process::abort();
        }
    }));
}

/// Runs what may panic without ending the process; `None` when it did. What it was about is in no known state then, and the
/// caller throws it away.
pub fn survive<T>(run: impl FnOnce() -> T) -> Option<T> {
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
    fn a_panic_of_one_thread_ends_all() {
        let me = std::env::current_exe().unwrap();
        let child = Command::new(me)
            .args(["--ignored", "--exact", "--nocapture", "panic::tests::as_a_process"])
            .output()
            .unwrap();
        assert_eq!(child.status.signal(), Some(SIGABRT), "{child:?}");
        let said = String::from_utf8_lossy(&child.stderr);
        assert!(said.contains("survived") && said.contains("a thread of two"), "{said}");
        assert!(String::from_utf8_lossy(&child.stdout).contains("still there"), "{child:?}");
    }

    #[test]
    #[ignore = "it ends the process: the test above starts it as one"]
    fn as_a_process() {
        super::ends_the_process();
        assert!(super::survive(|| panic!("survived")).is_none());
        assert_eq!(super::survive(|| 1), Some(1));
        println!("still there");
        let _ = std::thread::spawn(|| panic!("a thread of two")).join();
    }
}
