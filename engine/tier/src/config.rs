//! The settings `tier.*`, available in CONFIG GET and SET and in the configuration file.

use crate::ffi::*;
use crate::tier::tier;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_longlong, c_void};
use std::ptr::{null, null_mut};

#[derive(Clone)]
pub struct Settings {
    pub flash_path: String,
    pub flash_limit: u64,
    pub segment_size: u64,
    pub ram_limit: u64,
    pub min_value: usize,
}

thread_local! {
    /// Values that the server has set. The module's state holds a copy of those that may change.
    static SETTINGS: RefCell<Settings> = const {
        RefCell::new(Settings {
            flash_path: String::new(), flash_limit: 0, segment_size: 0, ram_limit: 0, min_value: 0,
        })
    };
    static LOADED: RefCell<bool> = const { RefCell::new(false) };
}

const GIB: i64 = 1 << 30;
const LEAST_SEGMENT: i64 = 64 << 10;

/// Registers the settings and reads the values of the server.
pub fn read(ctx: *mut Ctx) -> Result<Settings, String> {
    let numbers = [
        (c"flash-limit", 0, CONFIG_MEMORY, 0, i64::MAX),
        (c"segment-size", 64 << 20, CONFIG_IMMUTABLE | CONFIG_MEMORY, LEAST_SEGMENT, 64 << 20),
        (c"ram-limit", 0, CONFIG_MEMORY, 0, 1024 * 1024 * GIB),
        (c"min-value", 256, CONFIG_MEMORY, 64, GIB),
    ];
    // SAFETY: called while the module loads; names are static.
    unsafe {
        let mut registered = (api().RegisterStringConfig)(
            ctx,
            c"flash-path".as_ptr(),
            c"".as_ptr(),
            CONFIG_IMMUTABLE,
            get_path,
            set_path,
            null(),
            null_mut(),
        ) == OK;
        for (name, default, flags, least, most) in numbers {
            registered &= (api().RegisterNumericConfig)(
                ctx,
                name.as_ptr(),
                default,
                flags,
                least,
                most,
                get_number,
                set_number,
                null(),
                null_mut(),
            ) == OK;
        }
        if !registered || (api().LoadConfigs)(ctx) != OK {
            return Err("a setting of the tier module has an invalid value".to_owned());
        }
    }
    let mut settings = SETTINGS.with_borrow(Settings::clone);
    if settings.flash_path.is_empty() {
        return Err("tier.flash-path must name a directory on flash".to_owned());
    }
    if settings.flash_limit > 0 {
        settings.segment_size =
            settings.segment_size.min((settings.flash_limit / 16).max(LEAST_SEGMENT as u64));
    }
    if settings.segment_size < LEAST_SEGMENT as u64 {
        return Err(format!("tier.flash-limit must be 0 or at least {} bytes", 4 * LEAST_SEGMENT));
    }
    LOADED.set(true);
    Ok(settings)
}

unsafe extern "C" fn get_number(name: *const c_char, _: *mut c_void) -> c_longlong {
    // SAFETY: the server passes the registered name.
    let name = unsafe { CStr::from_ptr(name) };
    SETTINGS.with_borrow(|settings| match name.to_bytes() {
        b"flash-limit" => settings.flash_limit as i64,
        b"segment-size" => settings.segment_size as i64,
        b"ram-limit" => settings.ram_limit as i64,
        _ => settings.min_value as i64,
    })
}

unsafe extern "C" fn set_number(
    name: *const c_char,
    value: c_longlong,
    _: *mut c_void,
    _: *mut *mut Str,
) -> c_int {
    // SAFETY: the server passes the registered name.
    let name = unsafe { CStr::from_ptr(name) };
    SETTINGS.with_borrow_mut(|settings| {
        match name.to_bytes() {
            b"flash-limit" => settings.flash_limit = value as u64,
            b"segment-size" => settings.segment_size = value as u64,
            b"ram-limit" => settings.ram_limit = value as u64,
            _ => settings.min_value = value as usize,
        }
        if LOADED.with_borrow(|loaded| *loaded) {
            tier().log.limit = settings.flash_limit;
            tier().ram_limit = settings.ram_limit;
            tier().min_value = settings.min_value;
        }
    });
    OK
}

unsafe extern "C" fn get_path(_: *const c_char, _: *mut c_void) -> *mut Str {
    SETTINGS.with_borrow(|settings| {
        let string = Owned::new(settings.flash_path.as_bytes());
        let pointer = string.0;
        std::mem::forget(string);
        pointer
    })
}

unsafe extern "C" fn set_path(_: *const c_char, value: *mut Str, _: *mut c_void, _: *mut *mut Str) -> c_int {
    // SAFETY: the server passes a live string.
    let path = String::from_utf8_lossy(unsafe { bytes(value) }).into_owned();
    SETTINGS.with_borrow_mut(|settings| settings.flash_path = path);
    OK
}
