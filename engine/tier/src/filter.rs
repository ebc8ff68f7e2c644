//! Before every command: the keys that it touches are counted, and cold ones come back to RAM.
//!
//! The server calls the filter for each command of a client or of its primary and for each call of a script, not for the
//! commands of a transaction when it is executed: their keys are pinned when they are queued.

use crate::cold;
use crate::ffi::*;
use crate::limit;
use crate::log::Fault;
use crate::reads;
use crate::tier::{Access, Client, Command, Kind, Pinned, tier};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// Longer than any command's name, its subcommand's included; what is longer is no command.
const LONGEST_NAME: usize = 64;

struct Request {
    filter: *mut FilterCtx,
    argv: Vec<*mut Str>,
    command: Command,
}

impl Request {
    fn new(filter: *mut FilterCtx) -> Option<Self> {
        // The memory of the last request's arguments.
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

    fn arg(&self, index: usize) -> &[u8] {
        // SAFETY: arguments live during the call.
        unsafe { bytes(self.argv[index]) }
    }

    fn access(&self) -> Access {
        match self.command.kind {
            Kind::Delete => Access::Delete,
            _ if self.command.write => Access::Write,
            _ => Access::Fetch,
        }
    }

    /// The positions of its keys.
    fn keys(&mut self) -> Vec<usize> {
        match self.command.kind {
            Kind::Script | Kind::Ours => return Vec::new(),
            Kind::Get | Kind::Set => {
                return if self.argv.len() > 1 { vec![1] } else { Vec::new() };
            }
            _ => {}
        }
        let mut count = 0;
        // SAFETY: the arguments live; the answer is ours to free.
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
    fn needs_values(&self) -> bool {
        let plain_set = self.command.kind == Kind::Set && self.argv.len() == 3;
        !plain_set && !matches!(self.command.kind, Kind::Delete | Kind::KeysOnly)
    }

    /// Becomes another command of ours, with `skip` arguments less at its front.
    fn become_command(&self, name: &[u8], keep_arguments: bool) {
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

/// What the table says of a command, or of a subcommand.
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

/// Whose command it is.
struct Caller {
    id: u64,
    /// Of a client, not inside a script.
    top: bool,
    in_multi: bool,
    database: u32,
}

impl Caller {
    fn new(id: u64) -> Self {
        if !tier().clients.contains_key(&id) {
            if !is_client(id) {
                return Self { id, top: false, in_multi: false, database: tier().database };
            }
            tier().clients.insert(id, Client::default());
        }
        let database = database_of(id);
        confirm_multi(id);
        let client = tier().clients.entry(id).or_default();
        let in_multi = client.in_multi;
        if !in_multi && !client.pinned.is_empty() {
            // The client's last command, which may have waited, has ended.
            tier().unpin(id);
        }
        Self { id, top: true, in_multi, database }
    }
}

pub unsafe extern "C" fn run(filter: *mut FilterCtx) {
    // SAFETY: the server's filter context lives during the call.
    let id = unsafe { (api().CommandFilterGetClientId)(filter) };
    if tier().plain == Some(id) && is_done_in_ram(filter) {
        return;
    }
    tier().plain = None;
    let Some(mut request) = Request::new(filter) else { return };
    let caller = Caller::new(id);
    tier().database = caller.database;
    if caller.top {
        limit::hold_between_commands();
    }
    match request.command.kind {
        Kind::Multi if caller.top => tier().clients.entry(id).or_default().in_multi = true,
        Kind::Exec if caller.top => before_exec(&request, id),
        Kind::Discard if caller.top => {
            tier().unpin(id);
            tier().clients.insert(id, Client::default());
        }
        Kind::Select => select(&request, id, caller.top),
        Kind::Scan if asks_for_type(&request) => request.become_command(b"tier.scan", true),
        Kind::Sort => {
            if let Err(fault) = sort_patterns(&request, &caller) {
                refuse(&request, &fault, caller.in_multi);
                return;
            }
            touch_keys(&mut request, &caller);
        }
        Kind::Get if caller.top && !caller.in_multi && request.argv.len() == 2 => {
            tier().plain = Some(id);
            get(&mut request, &caller);
        }
        Kind::Set if caller.top && !caller.in_multi && request.argv.len() == 3 => {
            tier().plain = Some(id);
            touch_keys(&mut request, &caller);
        }
        _ => touch_keys(&mut request, &caller),
    }
}

/// What nearly all commands are: another GET, or SET without options, of the client that sent the last one, of a key whose value is in
/// RAM. Nothing else is looked at.
fn is_done_in_ram(filter: *mut FilterCtx) -> bool {
    // SAFETY: the server's filter context lives during the call, and so do its arguments.
    let (command, name, value) = unsafe {
        let argument = |index| (api().CommandFilterArgGet)(filter, index);
        match (api().CommandFilterArgsCount)(filter) {
            2 => (bytes(argument(0)), argument(1), None),
            3 => (bytes(argument(0)), argument(1), Some(bytes(argument(2)))),
            _ => return false,
        }
    };
    let wanted: &[u8] = if value.is_some() { b"set" } else { b"get" };
    if !command.eq_ignore_ascii_case(wanted) {
        return false;
    }
    limit::hold_between_commands();
    let database = tier().database;
    select_database(database);
    let Some(key) = Open::new(tier().ctx, name, READ) else { return value.is_none() };
    if cold::is_cold(&key) {
        return false;
    }
    if let Some(value) = value {
        // SAFETY: the key is open.
        tier().used += value.len() as i64 - unsafe { (api().ValueLength)(key.0) } as i64;
    }
    let access = if value.is_some() { Access::Write } else { Access::Fetch };
    // SAFETY: as above.
    tier().count(access, false, database, unsafe { bytes(name) });
    true
}

/// What most commands are: one string is read.
fn get(request: &mut Request, caller: &Caller) {
    select_database(caller.database);
    let Some(key) = Open::new(tier().ctx, request.argv[1], READ) else { return };
    if !cold::is_cold(&key) {
        tier().count(Access::Fetch, false, caller.database, request.arg(1));
    } else if reads::can_wait(&key, caller.id, &mut request.argv) {
        tier().count(Access::Fetch, true, caller.database, request.arg(1));
        request.become_command(b"tier.get", true);
    } else {
        drop(key);
        touch_keys(request, caller);
    }
}

fn touch_keys(request: &mut Request, caller: &Caller) {
    let keys = request.keys();
    if keys.is_empty() {
        return;
    }
    let access = request.access();
    let in_multi = caller.in_multi;
    let needs_values = request.needs_values();
    for &at in &keys {
        let Some(&name) = request.argv.get(at) else { continue };
        // What runs later may find other databases than now.
        let now = caller.top && !in_multi && !request.command.blocking;
        let database = if now { Some(caller.database) } else { None };
        match touch(database, name, needs_values, request, access) {
            Ok(found) => {
                if !in_multi && let Some(cold) = found {
                    tier().count(access, cold, tier().database, request.arg(at));
                }
                if in_multi || (caller.top && request.command.blocking) {
                    pin(caller.id, tier().database, name, access, found == Some(true));
                }
            }
            Err(fault) => {
                refuse(request, &fault, in_multi);
                return;
            }
        }
    }
}

fn select_database(number: u32) {
    if tier().databases > 1 {
        // SAFETY: our context and a number below that of databases.
        unsafe { (api().SelectDb)(tier().ctx, number as c_int) };
    }
}

/// MULTI may have been refused: then nothing is queued.
fn confirm_multi(id: u64) {
    let Some(client) = tier().clients.get_mut(&id) else { return };
    if client.in_multi && !client.confirmed {
        client.in_multi = client_info(id).is_some_and(|info| info.flags & CLIENT_IN_MULTI != 0);
        client.confirmed = client.in_multi;
    }
}

/// Looks at one key and makes it hot where needed; whether it was cold, None where there is none.
/// Scripts and transactions may select any database, so their keys are made hot in all of them.
fn touch(
    database: Option<u32>,
    name: *mut Str,
    needs_value: bool,
    request: &Request,
    access: Access,
) -> Result<Option<bool>, Fault> {
    let mut result = None;
    let current = tier().database;
    let range =
        if database.is_some() || tier().databases == 1 { current..current + 1 } else { 0..tier().databases };
    for number in range {
        let ctx = tier().ctx;
        select_database(number);
        let Some(key) = Open::new(ctx, name, READ) else {
            if access == Access::Write && number == current {
                grow(request, None);
                // SAFETY: the name lives during the call.
                tier().reuse.came(number, unsafe { bytes(name) });
                become_hot(name, request);
            }
            continue;
        };
        let cold = cold::is_cold(&key);
        if access == Access::Write && number == current {
            grow(request, Some(&key));
            if cold && !needs_value {
                become_hot(name, request);
            }
        }
        drop(key);
        if number == current {
            result = Some(cold);
        }
        if cold && needs_value {
            if may_not_tell(ctx) {
                return Err(Fault::Paused);
            }
            let size = cold::promote(ctx, name)?;
            tier().used += size as i64;
            tell_append_only_file(ctx, name);
        }
    }
    Ok(result)
}

/// A key whose value this write makes, which may have to go again some day.
fn become_hot(name: *mut Str, request: &Request) {
    let size: usize = (2..request.argv.len()).map(|index| request.arg(index).len()).sum();
    if size >= tier().min_value {
        let database = tier().database;
        // SAFETY: the name lives during the call.
        tier().hot.add(database, unsafe { bytes(name) });
    }
}

/// Estimates what a write adds to used memory until the server is asked again.
fn grow(request: &Request, key: Option<&Open>) {
    let mut size: i64 = (2..request.argv.len()).map(|index| request.arg(index).len() as i64).sum();
    if let Some(key) = key
        && request.command.kind == Kind::Set
        && !cold::is_cold(key)
    {
        // SAFETY: the key is open.
        size -= unsafe { (api().ValueLength)(key.0) } as i64;
    }
    tier().used += size;
}

/// When an append-only file is loaded no filter runs, so it must say when a value came back.
pub fn tell_append_only_file(ctx: *mut Ctx, name: *mut Str) {
    // SAFETY: our context; the call flushes what it propagates when it ends.
    unsafe {
        if (api().GetContextFlags)(ctx) & CTX_AOF != 0 {
            let reply = (api().Call)(ctx, c"tier.hot".as_ptr(), c"!s".as_ptr(), name);
            if !reply.is_null() {
                (api().FreeCallReply)(reply);
            }
        }
    }
}

/// The server ends when something is propagated while it is paused.
pub fn may_not_tell(ctx: *mut Ctx) -> bool {
    // SAFETY: our context; both ask for flags.
    unsafe { (api().GetContextFlags)(ctx) & CTX_AOF != 0 && (api().AvoidReplicaTraffic)() != 0 }
}

fn is_replica() -> bool {
    // SAFETY: our context.
    unsafe { (api().GetContextFlags)(tier().ctx) & CTX_REPLICA != 0 }
}

fn refuse(request: &Request, fault: &Fault, in_multi: bool) {
    request.become_command(
        match fault {
            Fault::Io => b"tier.unreadable",
            Fault::Checksum => b"tier.damaged",
            // There is no such command: the server refuses to queue it and executes nothing of the transaction.
            Fault::Paused if in_multi && !is_replica() => b"tier.paused-in-transaction",
            Fault::Paused => b"tier.paused",
        },
        false,
    );
}

fn pin(id: u64, database: u32, name: *mut Str, access: Access, was_cold: bool) {
    // SAFETY: the name lives during the call.
    let key = unsafe { bytes(name) }.to_vec();
    let tier = tier();
    tier.pins.add(&key);
    tier.clients.entry(id).or_default().pinned.push(Pinned { database, key, access, was_cold });
}

/// A resync may have made pinned keys cold since their commands were queued.
fn before_exec(request: &Request, id: u64) {
    let pinned = tier().unpin(id);
    tier().clients.insert(id, Client::default());
    for pin in pinned {
        let name = Owned::new(&pin.key);
        tier().database = pin.database;
        match touch(None, name.0, true, request, Access::Fetch) {
            Ok(Some(cold)) => tier().count(pin.access, cold || pin.was_cold, pin.database, &pin.key),
            Ok(None) => {}
            Err(fault) => {
                abort(request, id, &fault);
                return;
            }
        }
    }
}

/// A client's EXEC gets an argument too many, for which the server answers EXECABORT and executes nothing. A replica that
/// cannot do what its primary did ends.
fn abort(request: &Request, id: u64, fault: &Fault) {
    // SAFETY: live contexts; the filter's takes over the new string.
    unsafe {
        if is_replica() && is_primary_link(id) {
            let message = c"a transaction needs a value on flash that cannot be used: this replica ends";
            (api().Log)(tier().ctx, c"warning".as_ptr(), c"%s".as_ptr(), message.as_ptr());
            libc::_exit(1);
        }
        let why = match fault {
            Fault::Io => c"unreadable",
            Fault::Checksum => c"damaged",
            Fault::Paused => c"paused",
        };
        let why = (api().CreateString)(null_mut(), why.as_ptr(), why.to_bytes().len());
        (api().CommandFilterArgInsert)(request.filter, 1, why);
    }
}

/// Of a client of a replica; true where that cannot be told.
fn is_primary_link(id: u64) -> bool {
    let id = Owned::new(id.to_string().as_bytes());
    // SAFETY: the format names the types of the arguments; the reply is freed.
    unsafe {
        let (list, by) = (c"LIST", c"ID");
        let ctx = tier().ctx;
        let reply = (api().Call)(ctx, c"CLIENT".as_ptr(), c"ccs".as_ptr(), list.as_ptr(), by.as_ptr(), id.0);
        let told = text(reply);
        if !reply.is_null() {
            (api().FreeCallReply)(reply);
        }
        let told = String::from_utf8_lossy(&told);
        told.split(' ').find_map(|word| word.strip_prefix("flags=")).is_none_or(|flags| flags.contains('M'))
    }
}

fn select(request: &Request, id: u64, top: bool) {
    let number = (request.argv.len() == 2)
        .then(|| std::str::from_utf8(request.arg(1)).ok()?.parse::<u32>().ok())
        .flatten()
        .filter(|&number| number < tier().databases);
    if !top {
        tier().database = number.unwrap_or(tier().database);
        return;
    }
    let client = tier().clients.entry(id).or_default();
    // Outside a transaction the server is asked before the next command, as this one may be refused.
    client.database = if client.in_multi { number.or(client.database) } else { None };
}

/// Whether it is a connection (or the link to the primary), not the inside of a script.
fn is_client(id: u64) -> bool {
    client_info(id).is_some()
}

fn client_info(id: u64) -> Option<ClientInfo> {
    let mut info = ClientInfo { version: 1, flags: 0, id: 0, addr: [0; 46], port: 0, db: 0 };
    // SAFETY: of the version that it says.
    (unsafe { (api().GetClientInfoById)(&mut info, id) } == OK).then_some(info)
}

fn database_of(id: u64) -> u32 {
    if tier().databases == 1 {
        return 0;
    }
    if let Some(database) = tier().clients.get(&id).and_then(|client| client.database) {
        return database;
    }
    let database = client_info(id).map_or(0, |info| u32::from(info.db));
    tier().clients.entry(id).or_default().database = Some(database);
    database
}

fn asks_for_type(request: &Request) -> bool {
    (2..request.argv.len()).any(|index| request.arg(index).eq_ignore_ascii_case(b"type"))
}

/// SORT reads keys that only the elements name: all that its patterns can mean.
fn sort_patterns(request: &Request, caller: &Caller) -> Result<(), Fault> {
    let patterns: Vec<Vec<u8>> = (2..request.argv.len().saturating_sub(1))
        .filter(|&index| {
            request.arg(index).eq_ignore_ascii_case(b"by") || request.arg(index).eq_ignore_ascii_case(b"get")
        })
        .map(|index| request.arg(index + 1).to_vec())
        .filter(|pattern| pattern.contains(&b'*'))
        .collect();
    if patterns.is_empty() || request.argv.len() < 2 {
        return Ok(());
    }
    touch(Some(caller.database), request.argv[1], true, request, Access::Fetch)?;
    let ctx = tier().ctx;
    for element in elements(ctx, request.argv[1]) {
        for pattern in &patterns {
            let star = pattern.iter().position(|&byte| byte == b'*').unwrap_or(0);
            let end = pattern.windows(2).position(|pair| pair == b"->").filter(|&at| at > star);
            let mut name = pattern[..star].to_vec();
            name.extend_from_slice(&element);
            name.extend_from_slice(&pattern[star + 1..end.unwrap_or(pattern.len())]);
            let name = Owned::new(&name);
            let found = touch(Some(caller.database), name.0, true, request, Access::Fetch)?;
            if caller.in_multi {
                pin(caller.id, caller.database, name.0, Access::Fetch, found == Some(true));
            }
        }
    }
    Ok(())
}

/// Of a list, set or sorted set; by the key API, as a command would be refused on a replica of a cluster.
fn elements(ctx: *mut Ctx, name: *mut Str) -> Vec<Vec<u8>> {
    let mut found: Vec<Vec<u8>> = Vec::new();
    let Some(key) = Open::new(ctx, name, READ) else { return found };
    // SAFETY: the key is open and of that type; every string that the API hands out is freed.
    unsafe {
        match (api().KeyType)(key.0) {
            KEYTYPE_LIST => {
                for index in 0..(api().ValueLength)(key.0) {
                    let element = (api().ListGet)(key.0, index as i64);
                    if element.is_null() {
                        break;
                    }
                    found.push(bytes(element).to_vec());
                    (api().FreeString)(null_mut(), element);
                }
            }
            KEYTYPE_SET | KEYTYPE_ZSET => {
                let cursor = (api().ScanCursorCreate)();
                while (api().ScanKey)(key.0, cursor, add_element, (&raw mut found).cast()) != 0 {}
                (api().ScanCursorDestroy)(cursor);
            }
            _ => {}
        }
    }
    found
}

unsafe extern "C" fn add_element(_: *mut Key, element: *mut Str, _: *mut Str, found: *mut c_void) {
    // SAFETY: `found` is the vector that `elements` passed; the string lives during this call.
    unsafe { (*found.cast::<Vec<Vec<u8>>>()).push(bytes(element).to_vec()) }
}

/// The strings of an array.
pub fn texts(reply: *mut Reply) -> Vec<Vec<u8>> {
    if reply.is_null() {
        return Vec::new();
    }
    // SAFETY: the reply and its elements live until it is freed.
    unsafe {
        (0..(api().CallReplyLength)(reply))
            .map(|index| text((api().CallReplyArrayElement)(reply, index)))
            .collect()
    }
}

/// The bytes of a string in a reply; empty for anything else.
pub fn text(reply: *mut Reply) -> Vec<u8> {
    let mut length = 0;
    // SAFETY: the reply lives; the bytes are copied.
    unsafe {
        if reply.is_null() {
            return Vec::new();
        }
        let start = (api().CallReplyStringPtr)(reply, &mut length);
        if start.is_null() { Vec::new() } else { std::slice::from_raw_parts(start.cast(), length).to_vec() }
    }
}
