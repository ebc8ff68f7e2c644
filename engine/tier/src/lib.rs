//! A module for unpatched Valkey: values that are not used are moved to flash and return when a
//! command accesses them. Start with `README.md`.

mod admission;
mod cold;
mod commands;
mod config;
mod ffi;
mod filter;
mod hot;
mod info;
mod latency;
mod limit;
mod log;
mod reads;
mod replies;
mod reuse;
mod ring;
mod tier;
mod value;

use ffi::*;
use std::collections::{HashMap, VecDeque};
use std::ffi::{CStr, CString, c_int, c_void};
use std::path::Path;

/// Loads the module. Called by the server.
///
/// # Safety
/// The server passes its context and arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ValkeyModule_OnLoad(ctx: *mut Ctx, _: *mut *mut Str, argc: c_int) -> c_int {
    // SAFETY: this is the load function.
    if !unsafe { init(ctx) } {
        return ERR;
    }
    // SAFETY: the context lives during the call.
    unsafe { (api().SetModuleAttribs)(ctx, c"tier".as_ptr(), 1, 1) };
    if argc > 0 {
        return refuse(ctx, "the tier module takes no arguments; use tier.flash-path and the other settings");
    }
    match load(ctx) {
        Ok(()) => OK,
        Err(message) => refuse(ctx, &message),
    }
}

fn refuse(ctx: *mut Ctx, message: &str) -> c_int {
    let message = CString::new(message).unwrap_or_default();
    // SAFETY: a live context and texts that end with a zero byte.
    unsafe { (api().Log)(ctx, c"warning".as_ptr(), c"%s".as_ptr(), message.as_ptr()) };
    ERR
}

fn load(ctx: *mut Ctx) -> Result<(), String> {
    // SAFETY: a load function may make all of these calls.
    unsafe {
        (api().SetModuleOptions)(ctx, OPTION_HANDLE_IO_ERRORS | OPTION_NO_IMPLICIT_SIGNAL_MODIFIED);
        let settings = config::read(ctx)?;
        let databases = count_databases(ctx);
        let data_type = cold::create_type(ctx);
        if data_type.is_null() || !commands::create(ctx) {
            return Err("the server rejected the module's data type or commands".to_owned());
        }
        let log =
            log::Log::open(Path::new(&settings.flash_path), settings.segment_size, settings.flash_limit)?;
        tier::set(tier::Tier {
            ctx: (api().GetDetachedThreadSafeContext)(ctx),
            data_type,
            log,
            ring: None,
            admission: admission::Admission::new(),
            databases,
            tokens: (0..databases).collect(),
            ram_limit: settings.ram_limit,
            min_value: settings.min_value,
            spare_arguments: Vec::new(),
            clients: Default::default(),
            last_plain_client: None,
            pins: tier::Pins::default(),
            commands: commands::table(ctx),
            database: 0,
            used: 0,
            max_memory: 0,
            unmeasured: 0,
            holds: false,
            hot: hot::HotNames::default(),
            samplings: 0,
            victims: VecDeque::new(),
            has_no_candidates: false,
            refused: HashMap::new(),
            accesses: tier::Accesses::default(),
            reuse: reuse::ReuseDistance::new(),
            promotions: 0,
            demotions_clean: 0,
            demotions_dirty: 0,
        });
        let subscribed = [EVENT_CLIENT_CHANGE, EVENT_SWAPDB, EVENT_EVENTLOOP]
            .into_iter()
            .all(|id| (api().SubscribeToServerEvent)(ctx, Event { id, version: 1 }, on_event) == OK);
        let ready = subscribed
            && (api().RegisterInfoFunc)(ctx, info::add) == OK
            && !(api().RegisterCommandFilter)(ctx, filter::run, FILTER_NOSELF).is_null();
        if !ready {
            return Err("the server rejected the module's filter, events or INFO section".to_owned());
        }
        limit::start(ctx);
        reads::start(ctx);
    }
    Ok(())
}

/// Returns the server's setting `databases`. One in a cluster, if the engine version supports no
/// more.
fn count_databases(ctx: *mut Ctx) -> u32 {
    let ask = |name: &CStr| {
        // SAFETY: a live context; the reply is freed.
        unsafe {
            let reply = (api().Call)(ctx, c"CONFIG".as_ptr(), c"cc".as_ptr(), c"GET".as_ptr(), name.as_ptr());
            if reply.is_null() {
                return None;
            }
            let found =
                replies::texts(reply).get(1).and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
            (api().FreeCallReply)(reply);
            found
        }
    };
    // SAFETY: reads flags and a version.
    let (cluster, version) =
        unsafe { ((api().GetContextFlags)(ctx) & (1 << 5) != 0, (api().GetServerVersion)()) };
    if !cluster {
        return ask(c"databases").unwrap_or(16);
    }
    if version < 0x0009_0000 { 1 } else { ask(c"cluster-databases").unwrap_or(1) }
}

unsafe extern "C" fn on_event(_: *mut Ctx, event: Event, what: u64, data: *mut c_void) {
    // SAFETY: the server passes the structure that belongs to the event.
    unsafe {
        match event.id {
            EVENT_CLIENT_CHANGE => {
                let id = (*data.cast::<ClientInfo>()).id;
                if what == CLIENT_CONNECTED {
                    tier::tier().clients.insert(id, tier::Client::default());
                } else {
                    tier::tier().unpin(id);
                    tier::tier().clients.remove(&id);
                }
            }
            EVENT_EVENTLOOP if what == BEFORE_SLEEP => reads::before_sleep(),
            EVENT_EVENTLOOP => reads::after_sleep(),
            EVENT_SWAPDB => {
                let info = &*data.cast::<SwapDbInfo>();
                tier::tier().tokens.swap(info.first as usize, info.second as usize);
                tier::tier().hot.swap(info.first as u32, info.second as u32);
                tier::tier().victims.clear();
                tier::tier().refused.clear();
            }
            _ => {}
        }
    }
}
