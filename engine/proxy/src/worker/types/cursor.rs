//! The cursor of SCAN at an endpoint: the cursor of the engine, and the process that it belongs to.
//!
//! In cluster mode, the engine's cursor consists of a slot (the low 14 bits) and a position in the
//! table of that slot. The endpoint continues with the owner of the slot, whichever process that
//! is. A position is valid only in the process that returned it, because processes order the keys
//! of a table differently. In another process, the slot is read again from its start.

use resp::slot::SLOTS;
use resp::{Args, encode};
use std::net::SocketAddr;

const SLOT_BITS: u32 = 14;
/// Bits of the engine's cursor. A table with 2^33 entries in each slot does not fit into memory.
const ENGINE_BITS: u32 = 47;
const PROCESS_BITS: u32 = 14;
const AT_IMPORTER: u64 = 1 << 61;
/// Set in all cursors except 0, so that other numbers are recognised. Below the sign bit, because
/// some clients use signed numbers.
const MARK: u64 = 1 << 62;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cursor {
    /// The cursor of the engine.
    pub engine: u64,
    /// The process whose order of keys it refers to. Irrelevant at the start of a slot.
    pub process: u16,
    /// Whether the keys that have been moved to the importing process are read. This follows the
    /// keys of the exporting process.
    pub at_importer: bool,
}

impl Cursor {
    /// Parses a cursor. A number that no endpoint has returned starts a new scan, because the
    /// position is unknown. `None`: it is not a number.
    pub fn parse(digits: &[u8]) -> Option<Self> {
        let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        if number & MARK == 0 || number >> 63 != 0 {
            return Some(Self::default());
        }
        Some(Self {
            engine: number & ((1 << ENGINE_BITS) - 1),
            process: (number >> ENGINE_BITS) as u16 & ((1 << PROCESS_BITS) - 1),
            at_importer: number & AT_IMPORTER != 0,
        })
    }

    /// Returns the number for clients. It is never 0, which means the end.
    pub fn number(self) -> u64 {
        let importer = if self.at_importer { AT_IMPORTER } else { 0 };
        MARK | importer | u64::from(self.process) << ENGINE_BITS | self.engine & ((1 << ENGINE_BITS) - 1)
    }

    pub fn start_of(slot: u16) -> Self {
        Self { engine: u64::from(slot), ..Self::default() }
    }

    pub fn slot(self) -> u16 {
        self.engine as u16 % SLOTS
    }

    pub fn is_at_start(self, is_sharded: bool) -> bool {
        if is_sharded { self.engine >> SLOT_BITS == 0 } else { self.engine == 0 }
    }

    /// Returns the start of its slot, or of the table of a database without slots.
    pub fn restarted(self, is_sharded: bool) -> Self {
        Self { engine: if is_sharded { u64::from(self.slot()) } else { 0 }, ..self }
    }
}

/// Returns SCAN with the cursor of the engine.
pub fn with_engine_cursor(args: &Args<'_>, engine: u64) -> Vec<u8> {
    let digits = engine.to_string();
    let mut request = Vec::with_capacity(args.raw.len());
    encode::array(&mut request, args.len());
    for (n, arg) in args.iter().enumerate() {
        encode::bulk(&mut request, if n == 1 { digits.as_bytes() } else { arg });
    }
    request
}

/// Returns SCAN in a transaction with the cursor of the engine, if it has one of an endpoint. The
/// reply contains a cursor of the engine.
pub fn queued_scan(args: &Args<'_>) -> Option<Vec<u8>> {
    let cursor = Cursor::parse(args.get(1)?).filter(|cursor| *cursor != Cursor::default())?;
    Some(with_engine_cursor(args, cursor.engine))
}

/// Returns a number for a process that all endpoints agree on.
pub fn process_number(address: SocketAddr) -> u16 {
    let text = address.to_string();
    let hash = text.bytes().fold(0x811c_9dc5u32, |h, byte| (h ^ u32::from(byte)).wrapping_mul(0x0100_0193));
    ((hash >> 18 ^ hash) & ((1 << PROCESS_BITS) - 1)) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_are_restored_from_their_numbers() {
        for cursor in [
            Cursor { engine: 7 << SLOT_BITS | 5, process: 16_383, at_importer: true },
            Cursor { engine: 16_383, process: 1, at_importer: false },
            Cursor::default(),
        ] {
            let number = cursor.number();
            assert!(number > 0 && i64::try_from(number).is_ok());
            assert_eq!(Cursor::parse(number.to_string().as_bytes()), Some(cursor));
        }
        assert_eq!(Cursor { engine: 7 << SLOT_BITS | 5, ..Cursor::default() }.restarted(true).engine, 5);
        assert!(Cursor::start_of(5).is_at_start(true));
        assert!(!Cursor::start_of(5).is_at_start(false));
    }

    #[test]
    fn numbers_of_other_origin_start_a_new_scan() {
        for digits in ["0", "1", "12345", "18446744073709551615"] {
            assert_eq!(Cursor::parse(digits.as_bytes()), Some(Cursor::default()));
        }
        for digits in ["", "x", "-1", "18446744073709551616"] {
            assert_eq!(Cursor::parse(digits.as_bytes()), None);
        }
    }
}
