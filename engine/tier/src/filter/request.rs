//! A command that is about to be executed: its properties and keys.

use crate::ffi::*;
use crate::tier::{Access, Command, Kind, tier};
use std::ffi::c_int;
use std::ptr::null_mut;

/// Longer than the name of any command, including its subcommand. Longer names are unknown
/// commands.
const LONGEST_NAME: usize = 64;

pub(super) struct Request {
    pub(super) filter: *mut FilterCtx,
    pub(super) argv: Vec<*mut Str>,
    pub(super) command: Command,
}

impl Request {
    pub(super) fn new(filter: *mut FilterCtx) -> Option<Self> {
        // Reuses the memory of the previous request.
        let mut argv = std::mem::take(&mut tier().spare_arguments);
        // SAFETY: the server's filter context lives during the call.
        unsafe {
            let count = (api().CommandFilterArgsCount)(filter);
            argv.extend((0..count).map(|index| (api().CommandFilterArgGet)(filter, index)));
        }
        // SAFETY: arguments live during the call.
        let name = unsafe { bytes(*argv.first()?) };
        let mut lower = [0u8; LONGEST_NAME];
        let mut command = lookup(&mut lower, name, &[]);
        if command.container && argv.len() > 1 {
            // SAFETY: as above.
            let sub = lookup(&mut lower, name, unsafe { bytes(argv[1]) });
            command = if sub.kind == Kind::Unknown { command } else { sub };
        }
        Some(Self { filter, argv, command })
    }

    pub(super) fn arg(&self, index: usize) -> &[u8] {
        // SAFETY: arguments live during the call.
        unsafe { bytes(self.argv[index]) }
    }

    pub(super) fn access(&self) -> Access {
        match self.command.kind {
            Kind::Delete => Access::Delete,
            _ if self.command.write => Access::Write,
            _ => Access::Fetch,
        }
    }

    /// Returns the positions of the keys.
    pub(super) fn keys(&mut self) -> Vec<usize> {
        match self.command.kind {
            Kind::Script | Kind::Module => return Vec::new(),
            Kind::Get | Kind::Set => {
                return if self.argv.len() > 1 { vec![1] } else { Vec::new() };
            }
            _ => {}
        }
        let mut count = 0;
        // SAFETY: the arguments live; the result is freed here.
        unsafe {
            let found = (api().GetCommandKeys)(
                tier().ctx,
                self.argv.as_mut_ptr(),
                self.argv.len() as c_int,
                &mut count,
            );
            if found.is_null() {
                return Vec::new();
            }
            let keys =
                std::slice::from_raw_parts(found, count as usize).iter().map(|&at| at as usize).collect();
            (api().Free)(found.cast());
            keys
        }
    }

    /// Whether the values of its keys must be in RAM.
    pub(super) fn needs_values(&self) -> bool {
        let plain_set = self.command.kind == Kind::Set && self.argv.len() == 3;
        !plain_set && !matches!(self.command.kind, Kind::Delete | Kind::KeysOnly)
    }

    /// Replaces the command with one of this module, with or without the arguments.
    pub(super) fn become_command(&self, name: &[u8], keep_arguments: bool) {
        // SAFETY: the filter context lives; it takes over the new string.
        unsafe {
            if !keep_arguments {
                for index in (1..self.argv.len()).rev() {
                    (api().CommandFilterArgDelete)(self.filter, index as c_int);
                }
            }
            let name = (api().CreateString)(null_mut(), name.as_ptr().cast(), name.len());
            (api().CommandFilterArgReplace)(self.filter, 0, name);
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.argv.clear();
        tier().spare_arguments = std::mem::take(&mut self.argv);
    }
}

/// Returns the properties of a command or subcommand from the command table.
fn lookup(lower: &mut [u8; LONGEST_NAME], name: &[u8], sub: &[u8]) -> Command {
    let separator: &[u8] = if sub.is_empty() { b"" } else { b"|" };
    let mut length = 0;
    for part in [name, separator, sub] {
        let Some(place) = lower.get_mut(length..length + part.len()) else { return Command::default() };
        place.copy_from_slice(part);
        length += part.len();
    }
    lower[..length].make_ascii_lowercase();
    tier().commands.get(&lower[..length]).copied().unwrap_or_default()
}

pub(super) fn asks_for_type(request: &Request) -> bool {
    (2..request.argv.len()).any(|index| request.arg(index).eq_ignore_ascii_case(b"type"))
}
