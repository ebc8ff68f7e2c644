//! `INFO tier`.

use crate::ffi::*;
use crate::limit;
use crate::log::State;
use crate::tier::{Access, tier};
use std::ffi::{CString, c_int};

pub unsafe extern "C" fn add(info: *mut InfoCtx, crash: c_int) {
    if crash != 0 {
        return;
    }
    let tier = tier();
    let (ram, flash) = limit::values(tier.ctx);
    let state = match tier.log.state() {
        State::Ok => c"ok",
        State::Full => c"full",
        State::Failing => c"failing",
    };
    let log = &tier.log.counters;
    let mut numbers = Vec::new();
    for (name, access) in [("fetch", Access::Fetch), ("write", Access::Write), ("del", Access::Delete)] {
        numbers.push((format!("{name}_ram"), tier.accesses.ram[access as usize]));
        numbers.push((format!("{name}_flash"), tier.accesses.flash[access as usize]));
    }
    let others = [
        ("values_ram", ram),
        ("values_flash", flash),
        ("flash_used_bytes", tier.log.live_bytes()),
        ("flash_file_bytes", tier.log.file_bytes()),
        ("flash_read_bytes", log.read_bytes),
        ("flash_write_bytes", log.write_bytes),
        ("flash_reads", log.reads),
        ("flash_writes", log.writes),
        ("promotions", tier.promotions),
        ("demotions_clean", tier.demotions_clean),
        ("demotions_dirty", tier.demotions_dirty),
        ("queue_length", tier.ring.as_ref().map_or(0, |ring| ring.in_flight() as u64)),
        ("ram_limit_bytes", tier.ram_limit),
        ("read_errors", log.read_errors),
        ("checksum_errors", log.checksum_errors),
        ("flash_read_p50_us", log.latency.percentile(50)),
        ("flash_read_p99_us", log.latency.percentile(99)),
    ];
    numbers.extend(others.map(|(name, number)| (name.to_owned(), number)));
    // SAFETY: the server copies names and values.
    unsafe {
        if (api().InfoAddSection)(info, c"".as_ptr()) != OK {
            return;
        }
        for (name, number) in numbers {
            let name = CString::new(name).expect("no zero byte");
            (api().InfoAddFieldULongLong)(info, name.as_ptr(), number);
        }
        (api().InfoAddFieldCString)(info, c"flash_state".as_ptr(), state.as_ptr());
    }
}
