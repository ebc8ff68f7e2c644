//! Cold values: the data type that represents a value on flash, promotion and demotion.

use crate::ffi::*;
use crate::log::{Place, ReadError};
use crate::tier::{Tier, tier};
use crate::value;
use std::ffi::{c_int, c_void};
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

const ENCODING: c_int = 1;
/// Kind in an RDB file of a value that could not be read when the file was saved. Not a kind of
/// value.
const LOST: u8 = 0;

/// Number of cold keys.
pub static COLD: AtomicI64 = AtomicI64::new(0);

/// A value from an RDB file that the log could not accept.
struct InMemoryValue {
    kind: u8,
    value: Vec<u8>,
}

/// Content of the value pointer of a cold key: a place in the log, with the kind in the highest
/// bits, or an address.
enum ColdValue {
    Flash(Place),
    Held(*mut InMemoryValue),
}

fn stub(value: *mut c_void) -> ColdValue {
    let place = Place::from_word(value as u64);
    if place.kind() == 0 { ColdValue::Held(value.cast()) } else { ColdValue::Flash(place) }
}

/// Registers the data type with the server.
pub fn create_type(ctx: *mut Ctx) -> *mut Type {
    let mut methods = TypeMethods {
        version: 1,
        rdb_load,
        rdb_save,
        aof_rewrite,
        mem_usage: null(),
        digest: null(),
        free,
        aux_load: null(),
        aux_save: null(),
        aux_save_triggers: 0,
        unused: [null(); 10],
    };
    // SAFETY: called while the module loads.
    unsafe { (api().CreateDataType)(ctx, c"shardtier".as_ptr(), ENCODING, &mut methods) }
}

/// Whether the value of an open key is cold.
pub fn is_cold(key: &Open) -> bool {
    // SAFETY: the key is open.
    unsafe {
        (api().KeyType)(key.0) == KEYTYPE_MODULE && (api().ModuleTypeGetType)(key.0) == tier().data_type
    }
}

/// Returns the place in the log of an open, cold key. `None`: the value is in memory.
pub fn place_of(key: &Open) -> Option<Place> {
    // SAFETY: the key is open and cold.
    match stub(unsafe { (api().ModuleTypeGetValue)(key.0) }) {
        ColdValue::Flash(place) => Some(place),
        ColdValue::Held(_) => None,
    }
}

fn read(tier: &mut Tier, at: *mut c_void, name: &[u8]) -> Result<(u8, Vec<u8>), ReadError> {
    match stub(at) {
        ColdValue::Flash(place) => Ok((place.kind(), tier.log.read(place, name)?)),
        ColdValue::Held(held) => {
            // SAFETY: the key owns it, and only the main thread or a forked child runs this code.
            let held = unsafe { &*held };
            if held.kind == LOST { Err(ReadError::Checksum) } else { Ok((held.kind, held.value.clone())) }
        }
    }
}

/// Returns the value of an open, cold key. Blocks the server.
pub fn read_at(key: &Open, name: &[u8]) -> Result<Vec<u8>, ReadError> {
    // SAFETY: the key is open and cold.
    let at = unsafe { (api().ModuleTypeGetValue)(key.0) };
    read(tier(), at, name).map(|(_, value)| value)
}

/// Properties that are lost when a value is replaced, and restored afterwards: time to live and
/// last use.
struct KeyMetadata {
    expires: i64,
    idle: Option<i64>,
    frequency: Option<i64>,
}

impl KeyMetadata {
    fn of(key: &Open) -> Self {
        let (mut idle, mut frequency) = (0, 0);
        // SAFETY: the key is open.
        unsafe {
            Self {
                expires: (api().GetAbsExpire)(key.0),
                idle: ((api().GetLRU)(key.0, &mut idle) == OK && idle >= 0).then_some(idle),
                frequency: ((api().GetLFU)(key.0, &mut frequency) == OK && frequency >= 0)
                    .then_some(frequency),
            }
        }
    }

    fn restore(self, key: &Open) {
        // SAFETY: the key is open for writing.
        unsafe {
            if self.expires != NO_EXPIRE {
                (api().SetAbsExpire)(key.0, self.expires);
            }
            if let Some(idle) = self.idle {
                (api().SetLRU)(key.0, idle);
            }
            if let Some(frequency) = self.frequency {
                (api().SetLFU)(key.0, frequency);
            }
        }
    }
}

/// Promotes a cold value. Returns the number of bytes that it occupies. Must not be called for hot
/// keys.
pub fn promote(ctx: *mut Ctx, name: *mut Str) -> Result<usize, ReadError> {
    let Some(key) = Open::new(ctx, name, READ | WRITE) else { return Ok(0) };
    // SAFETY: name and key are live.
    let (at, name_bytes) = unsafe { ((api().ModuleTypeGetValue)(key.0), bytes(name)) };
    let (kind, found) = read(tier(), at, name_bytes)?;
    bring_back(ctx, name, key, kind, &found);
    Ok(found.len())
}

/// Promotes a string that has been read already.
pub fn promote_string(ctx: *mut Ctx, name: *mut Str, found: &[u8]) {
    if let Some(key) = Open::new(ctx, name, READ | WRITE) {
        bring_back(ctx, name, key, value::STRING, found);
    }
}

fn bring_back(ctx: *mut Ctx, name: *mut Str, key: Open, kind: u8, found: &[u8]) {
    let (kept, left) = (KeyMetadata::of(&key), place_of(&key));
    value::restore(&key, kind, found);
    drop(key);
    // The value was rebuilt, so the key is reopened: the old handle may not refer to the new value.
    if let Some(key) = Open::new(ctx, name, READ | WRITE) {
        kept.restore(&key);
    }
    let tier = tier();
    tier.promotions += 1;
    // SAFETY: context and name are live.
    let (database, key) = unsafe { ((api().GetSelectedDb)(ctx), bytes(name)) };
    tier.hot.add(database as u32, key);
    if let Some(place) = left {
        tier.log.remember_record(place, tier.tokens[database as usize], key, found);
    }
}

/// Demotes the value of a hot key. Returns the number of bytes freed, or `None` if the value stays
/// in RAM.
pub fn demote(ctx: *mut Ctx, database: u32, name: *mut Str) -> Option<usize> {
    // SAFETY: the name is live.
    let name_bytes = unsafe { bytes(name) };
    let tier = tier();
    if tier.pins.is_pinned(name_bytes) {
        return None;
    }
    drop(Open::new(ctx, name, READ)?);
    let key = Open::new(ctx, name, READ | WRITE)?;
    let kind = value::kind_of(&key)?;
    let most = tier.log.segment_size as usize;
    let found = value::serialize(&key, kind, tier.min_value, most)?;
    if !tier.log.fits(name_bytes.len(), found.len()) {
        return None;
    }
    let token = tier.tokens[database as usize];
    let left = tier.log.reuse_record(kind, token, name_bytes, &found);
    let place = match left {
        Some(place) => place,
        None => tier.log.append(kind, token, name_bytes, &found)?,
    };
    let kept = KeyMetadata::of(&key);
    // Reading the value may have left an iterator in the handle.
    drop(key);
    let key = Open::new(ctx, name, READ | WRITE)?;
    // SAFETY: the key is open for writing. The value is a word that only callbacks of this module
    // interpret.
    if unsafe { (api().ModuleTypeSetValue)(key.0, tier.data_type, place.word() as *mut c_void) } != OK {
        place.release();
        return None;
    }
    COLD.fetch_add(1, Relaxed);
    kept.restore(&key);
    *(if left.is_some() { &mut tier.demotions_clean } else { &mut tier.demotions_dirty }) += 1;
    Some(found.len())
}

/// Returns the kind of the value of an open, cold key.
pub fn kind_at(key: &Open) -> u8 {
    // SAFETY: the key is open and cold. It owns its value in memory, if any.
    unsafe {
        match stub((api().ModuleTypeGetValue)(key.0)) {
            ColdValue::Flash(place) => place.kind(),
            ColdValue::Held(held) => (*held).kind,
        }
    }
}

/// Whether the key is cold and its record is at this place.
pub fn is_at(ctx: *mut Ctx, name: *mut Str, place: Place) -> bool {
    Open::new(ctx, name, READ).is_some_and(|key| is_cold(&key) && place_of(&key) == Some(place))
}

/// Changes the place of a cold key if it is still `from`.
pub fn relocate(ctx: *mut Ctx, name: *mut Str, from: Place, to: Place) -> bool {
    if !is_at(ctx, name, from) {
        return false;
    }
    let Some(key) = Open::new(ctx, name, READ | WRITE) else { return false };
    let mut old = null_mut();
    // SAFETY: the key is open for writing and has the data type of this module.
    unsafe {
        (api().ModuleTypeReplaceValue)(key.0, tier().data_type, to.word() as *mut c_void, &mut old) == OK
    }
}

/// May run on any thread.
unsafe extern "C" fn free(value: *mut c_void) {
    COLD.fetch_sub(1, Relaxed);
    match stub(value) {
        ColdValue::Flash(place) => place.release(),
        // SAFETY: made by `rdb_load`, owned by the key that is being freed.
        ColdValue::Held(held) => drop(unsafe { Box::from_raw(held) }),
    }
}

/// # Safety
/// `io` is a live writer of the server.
unsafe fn cannot_save(io: *mut Io) {
    // SAFETY: see above.
    unsafe {
        (api().LogIOError)(io, c"warning".as_ptr(), c"a cold value cannot be read from flash".as_ptr());
        give_up_child();
        // In the server process (SAVE, shutdown), the file must not be completed either. Emitting
        // an invalid command is the only way to cause this.
        (api().EmitAOF)(io, c"a value that cannot be read".as_ptr(), c"".as_ptr());
    }
}

/// Runs in the forked child or in the server. Takes no locks.
unsafe extern "C" fn rdb_save(io: *mut Io, value: *mut c_void) {
    // SAFETY: the server passes a live writer whose key lives during this call.
    unsafe {
        let name = (api().GetKeyNameFromIO)(io);
        let name = if name.is_null() { &[][..] } else { bytes(name) };
        match read(tier(), value, name) {
            Ok((kind, found)) => {
                (api().SaveUnsigned)(io, u64::from(kind));
                (api().SaveStringBuffer)(io, found.as_ptr().cast(), found.len());
            }
            Err(_) => {
                cannot_save(io);
                (api().SaveUnsigned)(io, u64::from(LOST));
                (api().SaveStringBuffer)(io, c"".as_ptr(), 0);
            }
        }
    }
}

unsafe extern "C" fn aof_rewrite(io: *mut Io, name: *mut Str, value: *mut c_void) {
    // SAFETY: the server passes a live writer and name.
    unsafe {
        match read(tier(), value, bytes(name)) {
            Ok((kind, found)) => value::emit(io, name, kind, &found),
            Err(_) => cannot_save(io),
        }
    }
}

/// Ends the child process if it cannot save all values, so that the previous file remains.
fn give_up_child() {
    // SAFETY: in the child nothing else runs.
    unsafe {
        if (api().GetContextFlags)(tier().ctx) & CTX_CHILD != 0 {
            libc::_exit(1);
        }
    }
}

/// Writes loaded values to flash immediately, so that a data set larger than RAM can be loaded.
unsafe extern "C" fn rdb_load(io: *mut Io, encoding: c_int) -> *mut c_void {
    if encoding != ENCODING {
        return null_mut();
    }
    // SAFETY: the server passes a live reader. The buffer belongs to this function, which frees it.
    unsafe {
        let kind = (api().LoadUnsigned)(io) as u8;
        let mut length = 0;
        let buffer = (api().LoadStringBuffer)(io, &mut length);
        if buffer.is_null() || (api().IsIOError)(io) != 0 {
            return null_mut();
        }
        let found = std::slice::from_raw_parts(buffer.cast::<u8>(), length);
        let name = (api().GetKeyNameFromIO)(io);
        let database = usize::try_from((api().GetDbIdFromIO)(io)).unwrap_or(0);
        let tier = tier();
        tier.log.retry_rate_limited();
        let mut at = None;
        if kind != LOST && !name.is_null() && tier.log.fits(bytes(name).len(), length) {
            let token = tier.tokens.get(database).copied().unwrap_or(0);
            at = tier.log.append(kind, token, bytes(name), found);
        }
        let result = match at {
            Some(place) => place.word() as *mut c_void,
            None => Box::into_raw(Box::new(InMemoryValue { kind, value: found.to_vec() })).cast(),
        };
        (api().Free)(buffer.cast());
        COLD.fetch_add(1, Relaxed);
        result
    }
}
