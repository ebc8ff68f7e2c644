//! Records of a file: header, opcodes, keys, and end.

use crate::error::{Code, Error, Result};
use crate::rdb::input::Input;
use crate::rdb::string::MAX_WHOLE;
use crate::rdb::value::{Family, Type};
use crate::rdb::{Ignore, Visitor, module};
use crate::slots::SlotSet;

/// Redis Enterprise: usage and slot of the next key.
const USAGE: u8 = 107;
const SLOT: u8 = 121;
const SLOT_IMPORT_OR_KEY_METADATA: u8 = 243;
const SLOT_INFO: u8 = 244;
const FUNCTION: u8 = 245;
const MODULE_AUX: u8 = 247;
const IDLE: u8 = 248;
const FREQUENCY: u8 = 249;
const AUX: u8 = 250;
const SIZES: u8 = 251;
const EXPIRY_MS: u8 = 252;
const EXPIRY_SECONDS: u8 = 253;
const DATABASE: u8 = 254;
const END: u8 = 255;

/// Longest records that are held until it is known whether they are copied: those before a key, and
/// those together with the key.
const MAX_PREFIX: usize = 16 * 1024 * 1024;
const MAX_ENGINE_VERSION: usize = 100;
const MAX_KEY: usize = MAX_PREFIX + MAX_WHOLE;

/// A key, without its value.
#[derive(Debug, Clone)]
pub struct Entry {
    pub key: Vec<u8>,
    pub value: Type,
    /// Milliseconds since 1970.
    pub expires: Option<i64>,
    pub frequency: Option<u8>,
    pub idle_seconds: Option<u64>,
    pub database: u64,
    pub slot: u16,
    /// The shard was importing the slot, so some of its keys may be missing.
    pub is_importing: bool,
    /// Position of the first byte in the file.
    pub start: u64,
}

pub enum Event {
    /// Its value follows and must be read.
    Key(Entry),
    /// Source code of a function library.
    Function(Vec<u8>),
    End,
}

/// Reads the records of a file. Unless an output is set, everything is dropped after it was read.
pub struct Reader<'a> {
    pub input: Input<'a>,
    pub family: Family,
    pub version: u32,
    /// Of the engine that wrote the file; empty if it is not in the file.
    pub engine_version: String,
    pub replication_id: String,
    pub replication_offset: u64,
    database: u64,
    importing: SlotSet,
    /// Slots whose records are copied to the output.
    slots: SlotSet,
}

impl<'a> Reader<'a> {
    /// Reads the header.
    pub fn new(mut input: Input<'a>, slots: SlotSet) -> Result<Self> {
        let magic: [u8; 9] = input.array()?;
        let (family, digits) = if let Some(digits) = magic.strip_prefix(b"REDIS") {
            (Family::Redis, digits)
        } else if let Some(digits) = magic.strip_prefix(b"VALKEY") {
            (Family::Valkey, digits)
        } else {
            return Err(Error::corrupted("the file is not an RDB file"));
        };
        let digits = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()));
        let version = digits
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| Error::corrupted("the version of the RDB file is invalid"))?;
        Ok(Self {
            input,
            family,
            version,
            engine_version: String::new(),
            replication_id: String::new(),
            replication_offset: 0,
            database: 0,
            importing: SlotSet::default(),
            slots,
        })
    }

    pub fn next_event(&mut self) -> Result<Event> {
        self.read_event().map_err(|error| match error.code {
            Code::TooLongToHold => Error::corrupted("the records before a key are too long"),
            _ => error,
        })
    }

    fn read_event(&mut self) -> Result<Event> {
        let (mut expires, mut frequency, mut idle_seconds) = (None, None, None);
        self.input.hold(MAX_PREFIX);
        let mut start = self.input.position();
        loop {
            match self.input.byte()? {
                EXPIRY_MS => expires = Some(i64::from_le_bytes(self.input.array()?)),
                EXPIRY_SECONDS => expires = Some(i64::from(i32::from_le_bytes(self.input.array()?)) * 1000),
                FREQUENCY => frequency = Some(self.input.byte()?),
                IDLE => idle_seconds = Some(self.input.length()?),
                USAGE | SLOT => drop(self.input.length()?),
                SLOT_IMPORT_OR_KEY_METADATA if self.family == Family::Redis => self.key_metadata()?,
                END => {
                    self.input.copy();
                    self.input.finish(self.version >= 5)?;
                    return Ok(Event::End);
                }
                FUNCTION => {
                    let mut code = Vec::new();
                    self.input.copy();
                    self.input.collect(&mut code)?;
                    return Ok(Event::Function(code));
                }
                opcode @ (SLOT_IMPORT_OR_KEY_METADATA | SLOT_INFO | MODULE_AUX | AUX | SIZES | DATABASE) => {
                    self.between_keys(opcode)?;
                    self.input.hold(MAX_PREFIX);
                    start = self.input.position();
                }
                246 => {
                    return Err(Error::general("functions of Redis 7.0 release candidates cannot be read"));
                }
                code => {
                    let value = Type::new(code, self.family)?;
                    let mut key = Vec::new();
                    self.input.limit_hold(MAX_KEY);
                    self.input.collect(&mut key)?;
                    let slot = resp::slot::of_key(&key);
                    let (database, is_importing) = (self.database, self.importing.contains(slot));
                    return Ok(Event::Key(Entry {
                        key,
                        value,
                        expires,
                        frequency,
                        idle_seconds,
                        database,
                        slot,
                        is_importing,
                        start,
                    }));
                }
            }
        }
    }

    pub fn read_value(&mut self, entry: &Entry, visitor: &mut impl Visitor) -> Result<()> {
        entry.value.read(&mut self.input, visitor)
    }

    /// Reads a record that is not part of a key, and copies or drops it. Records without a limit are not held.
    fn between_keys(&mut self, opcode: u8) -> Result<()> {
        match opcode {
            SLOT_INFO => {
                let slot = self.input.length()?;
                self.input.length()?;
                self.input.length()?;
                if !u16::try_from(slot).is_ok_and(|slot| self.slots.contains(slot)) {
                    return self.input.omit();
                }
                self.input.copy();
            }
            SIZES => {
                self.input.copy();
                self.input.length()?;
                self.input.length()?;
            }
            DATABASE => {
                self.input.copy();
                self.database = self.input.length()?;
            }
            MODULE_AUX => {
                self.input.copy();
                for _ in 0..3 {
                    self.input.length()?;
                }
                module::parts(&mut self.input, &mut Ignore)?;
            }
            AUX => {
                self.input.copy();
                self.aux()?;
            }
            _ => {
                self.input.omit()?;
                self.slot_import()?;
            }
        }
        Ok(())
    }

    fn aux(&mut self) -> Result<()> {
        let (mut name, mut value) = (Vec::new(), Vec::new());
        self.input.collect(&mut name)?;
        self.input.collect(&mut value)?;
        let text = String::from_utf8_lossy(&value);
        match name.as_slice() {
            b"repl-id" => self.replication_id = text.into_owned(),
            b"redis-ver" | b"valkey-ver" => {
                self.engine_version = text.chars().take(MAX_ENGINE_VERSION).collect();
            }
            b"repl-offset" => self.replication_offset = text.parse().unwrap_or(0),
            _ => {}
        }
        Ok(())
    }

    /// Slots that the shard was importing: a name, then first and last slot of each range.
    fn slot_import(&mut self) -> Result<()> {
        self.input.string(|_, _| Ok(()))?;
        for _ in 0..self.input.length()? {
            let (first, last) = (self.input.length()?, self.input.length()?);
            let range = u16::try_from(first).ok().zip(u16::try_from(last).ok());
            if !range.is_some_and(|(first, last)| self.importing.insert(first, last)) {
                return Err(Error::corrupted("a range of slots is invalid"));
            }
        }
        Ok(())
    }

    /// Data of modules about the next key.
    fn key_metadata(&mut self) -> Result<()> {
        for _ in 0..self.input.length()? {
            self.input.array::<4>()?;
            module::parts(&mut self.input, &mut Ignore)?;
        }
        Ok(())
    }
}
