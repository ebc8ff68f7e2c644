//! The functions of Valkey's module API that this module uses, declared manually.
//!
//! Source: `src/valkeymodule.h` of Valkey 8.0.1 and 9.1.2, which are identical in everything
//! declared here.

#![allow(non_snake_case)]

use std::ffi::{c_char, c_int, c_long, c_longlong, c_ulonglong, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;

macro_rules! opaque {
    ($($name:ident)*) => {$(
        #[repr(C)]
        pub struct $name {
            _private: [u8; 0],
        }
    )*};
}

opaque!(Ctx Key Str Io Type Reply FilterCtx Filter InfoCtx ServerInfo Blocked User);

pub const OK: c_int = 0;
pub const ERR: c_int = 1;

pub const READ: c_int = 1 << 0;
pub const WRITE: c_int = 1 << 1;
const NOTOUCH: c_int = 1 << 16;
const NONOTIFY: c_int = 1 << 17;
const NOSTATS: c_int = 1 << 18;
const NOEXPIRE: c_int = 1 << 19;
/// Opens a key without side effects: no statistics, no notification, no change of its last use.
pub const QUIET: c_int = NOTOUCH | NONOTIFY | NOSTATS | NOEXPIRE;

pub const KEYTYPE_STRING: c_int = 1;
pub const KEYTYPE_LIST: c_int = 2;
pub const KEYTYPE_HASH: c_int = 3;
pub const KEYTYPE_SET: c_int = 4;
pub const KEYTYPE_ZSET: c_int = 5;
pub const KEYTYPE_MODULE: c_int = 6;
pub const KEYTYPE_STREAM: c_int = 7;

pub const REPLY_ERROR: c_int = 1;
pub const REPLY_ARRAY: c_int = 3;

pub const LIST_TAIL: c_int = 1;
pub const HASH_NONE: c_int = 0;
pub const NO_EXPIRE: c_longlong = -1;

pub const CTX_LUA: c_int = 1 << 0;
pub const CTX_MULTI: c_int = 1 << 1;
pub const CTX_REPLICA: c_int = 1 << 3;
pub const CTX_AOF: c_int = 1 << 6;
pub const CTX_REPLICATED: c_int = 1 << 12;
pub const CTX_LOADING: c_int = 1 << 13;
pub const CTX_CHILD: c_int = 1 << 20;
pub const CTX_DENY_BLOCKING: c_int = 1 << 21;

pub const OPTION_HANDLE_IO_ERRORS: c_int = 1 << 0;
pub const OPTION_NO_IMPLICIT_SIGNAL_MODIFIED: c_int = 1 << 1;
pub const FILTER_NOSELF: c_int = 1 << 0;

pub const CONFIG_IMMUTABLE: u32 = 1 << 0;
pub const CONFIG_MEMORY: u32 = 1 << 7;

pub const EVENT_CLIENT_CHANGE: u64 = 4;
pub const EVENT_SWAPDB: u64 = 11;
pub const EVENT_EVENTLOOP: u64 = 15;
pub const BEFORE_SLEEP: u64 = 0;
pub const EVENTLOOP_READABLE: c_int = 1;
pub const CLIENT_CONNECTED: u64 = 0;
pub const CLIENT_IN_MULTI: u64 = 1 << 5;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event {
    pub id: u64,
    pub version: u64,
}

#[repr(C)]
pub struct ClientInfo {
    pub version: u64,
    pub flags: u64,
    pub id: u64,
    pub addr: [c_char; 46],
    pub port: u16,
    pub db: u16,
}

#[repr(C)]
pub struct SwapDbInfo {
    pub version: u64,
    pub first: i32,
    pub second: i32,
}

type Unused = *const c_void;

#[repr(C)]
pub struct TypeMethods {
    pub version: u64,
    pub rdb_load: unsafe extern "C" fn(*mut Io, c_int) -> *mut c_void,
    pub rdb_save: unsafe extern "C" fn(*mut Io, *mut c_void),
    pub aof_rewrite: unsafe extern "C" fn(*mut Io, *mut Str, *mut c_void),
    pub mem_usage: Unused,
    pub digest: Unused,
    pub free: unsafe extern "C" fn(*mut c_void),
    pub aux_load: Unused,
    pub aux_save: Unused,
    pub aux_save_triggers: c_int,
    pub unused: [Unused; 10],
}

pub type CommandFn = unsafe extern "C" fn(*mut Ctx, *mut *mut Str, c_int) -> c_int;
pub type FreeFn = unsafe extern "C" fn(*mut Ctx, *mut c_void);
pub type EventLoopFn = unsafe extern "C" fn(c_int, *mut c_void, c_int);
pub type TimerFn = unsafe extern "C" fn(*mut Ctx, *mut c_void);
pub type FilterFn = unsafe extern "C" fn(*mut FilterCtx);
pub type EventFn = unsafe extern "C" fn(*mut Ctx, Event, u64, *mut c_void);
pub type InfoFn = unsafe extern "C" fn(*mut InfoCtx, c_int);
pub type ScanKeyFn = unsafe extern "C" fn(*mut Key, *mut Str, *mut Str, *mut c_void);
pub type GetNumber = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_longlong;
pub type SetNumber = unsafe extern "C" fn(*const c_char, c_longlong, *mut c_void, *mut *mut Str) -> c_int;
pub type GetString = unsafe extern "C" fn(*const c_char, *mut c_void) -> *mut Str;
pub type SetString = unsafe extern "C" fn(*const c_char, *mut Str, *mut c_void, *mut *mut Str) -> c_int;

macro_rules! api {
    ($($name:ident: fn($($args:tt)*) $(-> $ret:ty)?;)*) => {
        pub struct Api {
            $(pub $name: unsafe extern "C" fn($($args)*) $(-> $ret)?,)*
        }
        impl Api {
            /// # Safety
            /// `get` is the server's function that finds API functions by name.
            unsafe fn find(get: unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int) -> Option<Api> {
                Some(Api {$(
                    $name: {
                        let mut found: *mut c_void = null_mut();
                        let name = concat!("ValkeyModule_", stringify!($name), "\0");
                        // SAFETY: the name ends with a zero byte, and `found` belongs to this
                        // function.
                        if unsafe { get(name.as_ptr().cast(), &mut found) } != OK || found.is_null() {
                            return None;
                        }
                        // SAFETY: the header declares this signature for the function of this name.
                        unsafe {
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($args)*) $(-> $ret)?>(found)
                        }
                    },
                )*})
            }
        }
    };
}

api! {
    SetModuleAttribs: fn(*mut Ctx, *const c_char, c_int, c_int);
    SetModuleOptions: fn(*mut Ctx, c_int);
    CreateCommand: fn(*mut Ctx, *const c_char, CommandFn, *const c_char, c_int, c_int, c_int) -> c_int;
    CreateDataType: fn(*mut Ctx, *const c_char, c_int, *mut TypeMethods) -> *mut Type;
    RegisterCommandFilter: fn(*mut Ctx, FilterFn, c_int) -> *mut Filter;
    RegisterInfoFunc: fn(*mut Ctx, InfoFn) -> c_int;
    RegisterNumericConfig: fn(*mut Ctx, *const c_char, c_longlong, u32, c_longlong, c_longlong, GetNumber, SetNumber, Unused, *mut c_void) -> c_int;
    RegisterStringConfig: fn(*mut Ctx, *const c_char, *const c_char, u32, GetString, SetString, Unused, *mut c_void) -> c_int;
    LoadConfigs: fn(*mut Ctx) -> c_int;
    SubscribeToServerEvent: fn(*mut Ctx, Event, EventFn) -> c_int;
    CreateTimer: fn(*mut Ctx, c_longlong, TimerFn, *mut c_void) -> u64;
    GetDetachedThreadSafeContext: fn(*mut Ctx) -> *mut Ctx;
    GetContextFlags: fn(*mut Ctx) -> c_int;
    AvoidReplicaTraffic: fn() -> c_int;
    GetClientInfoById: fn(*mut ClientInfo, u64) -> c_int;
    SelectDb: fn(*mut Ctx, c_int) -> c_int;
    GetSelectedDb: fn(*mut Ctx) -> c_int;
    BlockClient: fn(*mut Ctx, CommandFn, Option<CommandFn>, FreeFn, c_longlong) -> *mut Blocked;
    UnblockClient: fn(*mut Blocked, *mut c_void) -> c_int;
    GetBlockedClientPrivateData: fn(*mut Ctx) -> *mut c_void;
    EventLoopAdd: fn(c_int, c_int, EventLoopFn, *mut c_void) -> c_int;
    GetClientUserNameById: fn(*mut Ctx, u64) -> *mut Str;
    GetModuleUserFromUserName: fn(*mut Str) -> *mut User;
    FreeModuleUser: fn(*mut User);
    ACLCheckCommandPermissions: fn(*mut User, *mut *mut Str, c_int) -> c_int;
    Log: fn(*mut Ctx, *const c_char, *const c_char, ...);
    LogIOError: fn(*mut Io, *const c_char, *const c_char, ...);

    CommandFilterArgsCount: fn(*mut FilterCtx) -> c_int;
    CommandFilterArgGet: fn(*mut FilterCtx, c_int) -> *mut Str;
    CommandFilterArgInsert: fn(*mut FilterCtx, c_int, *mut Str) -> c_int;
    CommandFilterArgReplace: fn(*mut FilterCtx, c_int, *mut Str) -> c_int;
    CommandFilterArgDelete: fn(*mut FilterCtx, c_int) -> c_int;
    CommandFilterGetClientId: fn(*mut FilterCtx) -> c_ulonglong;
    GetCommandKeys: fn(*mut Ctx, *mut *mut Str, c_int, *mut c_int) -> *mut c_int;
    Free: fn(*mut c_void);

    CreateString: fn(*mut Ctx, *const c_char, usize) -> *mut Str;
    FreeString: fn(*mut Ctx, *mut Str);
    StringPtrLen: fn(*const Str, *mut usize) -> *const c_char;

    OpenKey: fn(*mut Ctx, *mut Str, c_int) -> *mut Key;
    CloseKey: fn(*mut Key);
    KeyType: fn(*mut Key) -> c_int;
    ValueLength: fn(*mut Key) -> usize;
    DeleteKey: fn(*mut Key) -> c_int;
    GetAbsExpire: fn(*mut Key) -> c_longlong;
    SetAbsExpire: fn(*mut Key, c_longlong) -> c_int;
    GetLRU: fn(*mut Key, *mut c_longlong) -> c_int;
    SetLRU: fn(*mut Key, c_longlong) -> c_int;
    GetLFU: fn(*mut Key, *mut c_longlong) -> c_int;
    SetLFU: fn(*mut Key, c_longlong) -> c_int;
    DbSize: fn(*mut Ctx) -> c_ulonglong;
    RandomKey: fn(*mut Ctx) -> *mut Str;
    ModuleTypeGetType: fn(*mut Key) -> *mut Type;
    ModuleTypeGetValue: fn(*mut Key) -> *mut c_void;
    ModuleTypeSetValue: fn(*mut Key, *mut Type, *mut c_void) -> c_int;
    ModuleTypeReplaceValue: fn(*mut Key, *mut Type, *mut c_void, *mut *mut c_void) -> c_int;
    StringSet: fn(*mut Key, *mut Str) -> c_int;
    StringDMA: fn(*mut Key, *mut usize, c_int) -> *const c_char;
    ListPush: fn(*mut Key, c_int, *mut Str) -> c_int;
    ListGet: fn(*mut Key, c_long) -> *mut Str;
    HashSet: fn(*mut Key, c_int, ...) -> c_int;
    ScanCursorCreate: fn() -> *mut c_void;
    ScanCursorDestroy: fn(*mut c_void);
    ScanKey: fn(*mut Key, *mut c_void, ScanKeyFn, *mut c_void) -> c_int;
    ZsetAdd: fn(*mut Key, f64, *mut Str, *mut c_int) -> c_int;
    ZsetFirstInScoreRange: fn(*mut Key, f64, f64, c_int, c_int) -> c_int;
    ZsetRangeCurrentElement: fn(*mut Key, *mut f64) -> *mut Str;
    ZsetRangeNext: fn(*mut Key) -> c_int;
    ZsetRangeEndReached: fn(*mut Key) -> c_int;
    ZsetRangeStop: fn(*mut Key);

    Call: fn(*mut Ctx, *const c_char, *const c_char, ...) -> *mut Reply;
    CallReplyType: fn(*mut Reply) -> c_int;
    CallReplyLength: fn(*mut Reply) -> usize;
    CallReplyArrayElement: fn(*mut Reply, usize) -> *mut Reply;
    CallReplyStringPtr: fn(*mut Reply, *mut usize) -> *const c_char;
    FreeCallReply: fn(*mut Reply);
    Replicate: fn(*mut Ctx, *const c_char, *const c_char, ...) -> c_int;
    ReplyWithArray: fn(*mut Ctx, c_long) -> c_int;
    ReplyWithCallReply: fn(*mut Ctx, *mut Reply) -> c_int;
    ReplyWithStringBuffer: fn(*mut Ctx, *const c_char, usize) -> c_int;
    ReplyWithSimpleString: fn(*mut Ctx, *const c_char) -> c_int;
    ReplyWithNull: fn(*mut Ctx) -> c_int;
    ReplyWithError: fn(*mut Ctx, *const c_char) -> c_int;
    WrongArity: fn(*mut Ctx) -> c_int;

    SaveUnsigned: fn(*mut Io, u64);
    LoadUnsigned: fn(*mut Io) -> u64;
    SaveStringBuffer: fn(*mut Io, *const c_char, usize);
    LoadStringBuffer: fn(*mut Io, *mut usize) -> *mut c_char;
    IsIOError: fn(*mut Io) -> c_int;
    EmitAOF: fn(*mut Io, *const c_char, *const c_char, ...);
    GetKeyNameFromIO: fn(*mut Io) -> *const Str;
    GetDbIdFromIO: fn(*mut Io) -> c_int;

    InfoAddSection: fn(*mut InfoCtx, *const c_char) -> c_int;
    InfoAddFieldULongLong: fn(*mut InfoCtx, *const c_char, c_ulonglong) -> c_int;
    InfoAddFieldCString: fn(*mut InfoCtx, *const c_char, *const c_char) -> c_int;
    GetServerInfo: fn(*mut Ctx, *const c_char) -> *mut ServerInfo;
    ServerInfoGetFieldUnsigned: fn(*mut ServerInfo, *const c_char, *mut c_int) -> c_ulonglong;
    FreeServerInfo: fn(*mut Ctx, *mut ServerInfo);
    GetUsedMemoryRatio: fn() -> f32;
    GetServerVersion: fn() -> c_int;
}

static API: OnceLock<Api> = OnceLock::new();

/// Finds all functions. Returns `false` if the server lacks one.
///
/// # Safety
/// `ctx` is the context that the server passed to the module's load function.
pub unsafe fn init(ctx: *mut Ctx) -> bool {
    // SAFETY: the first word of that context is the function that finds the others.
    let get = unsafe { *ctx.cast::<unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_int>() };
    // SAFETY: as above.
    match unsafe { Api::find(get) } {
        Some(api) => API.set(api).is_ok() || API.get().is_some(),
        None => false,
    }
}

/// Returns the functions. Must be called after `init`.
#[inline]
pub fn api() -> &'static Api {
    API.get().expect("the module is loaded")
}

/// Returns the bytes of a string of the server, valid as long as the string.
///
/// # Safety
/// `string` is a live string.
pub unsafe fn bytes<'a>(string: *const Str) -> &'a [u8] {
    let mut length = 0;
    // SAFETY: the server returns the start of that many bytes.
    unsafe {
        let start = (api().StringPtrLen)(string, &mut length);
        std::slice::from_raw_parts(start.cast(), length)
    }
}

/// A string of the server that is freed when dropped.
pub struct Owned(pub *mut Str);

impl Owned {
    pub fn new(bytes: &[u8]) -> Self {
        // SAFETY: the server copies the bytes; without a context this value owns the string.
        Self(unsafe { (api().CreateString)(null_mut(), bytes.as_ptr().cast(), bytes.len()) })
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: owned since `new`.
        unsafe { (api().FreeString)(null_mut(), self.0) }
    }
}

/// An open key that is closed when dropped.
pub struct Open(pub *mut Key);

impl Open {
    /// Returns `None` if the key does not exist or has expired.
    pub fn new(ctx: *mut Ctx, name: *mut Str, mode: c_int) -> Option<Self> {
        // SAFETY: callers pass a live context and name.
        let key = unsafe { (api().OpenKey)(ctx, name, mode | QUIET) };
        if key.is_null() { None } else { Some(Self(key)) }
    }

    /// Opens the key for reading like a client, with statistics and an update of its last use.
    pub fn noticed(ctx: *mut Ctx, name: *mut Str) -> Option<Self> {
        // SAFETY: callers pass a live context and name.
        let key = unsafe { (api().OpenKey)(ctx, name, READ) };
        if key.is_null() { None } else { Some(Self(key)) }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        // SAFETY: opened in `new`, closed only here.
        unsafe { (api().CloseKey)(self.0) }
    }
}
