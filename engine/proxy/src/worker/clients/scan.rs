//! SCAN: what is known about a page of keys before its cursor is returned.

use crate::topology::TargetNumber;
use crate::worker::types::cursor::Cursor;
use resp::slot::SLOTS;
use resp::{encode, items, text};
use std::ops::Range;

#[derive(Debug)]
pub struct Scan {
    /// The cursor that was sent.
    pub cursor: Cursor,
    /// The process that its position belongs to.
    pub process: Option<TargetNumber>,
    /// Version of the topology with which it was routed.
    pub topology_version: u32,
    /// The reply to SCAN, while the process is asked which slots it owns.
    pub page: Option<Page>,
    /// Whether the client's user asks, because the user for canary writes may not.
    pub asks_as_client: bool,
}

#[derive(Debug)]
pub struct Page {
    /// The engine's next cursor; 0: end.
    pub next: u64,
    /// The keys, as an array.
    pub keys: Vec<u8>,
    /// The process that returned them.
    pub process: TargetNumber,
}

/// How far a page is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All slots that it covers were owned by the process: continue with its cursor.
    Complete,
    /// It is complete up to this slot, or up to the end of all slots.
    Until(u16),
    /// The keys of its first slot are being moved: those that have been moved follow.
    Importer,
    /// The process did not own the first slot when it read it.
    Again,
}

impl Page {
    /// Parses the reply to SCAN.
    pub fn parse(frame: &[u8], process: TargetNumber) -> Option<Self> {
        let [next, keys] = items(frame)?[..] else { return None };
        let next = std::str::from_utf8(text(next)?).ok()?.parse().ok()?;
        Some(Self { next, keys: keys.to_vec(), process })
    }

    /// Returns the slot that the next page starts with; `SLOTS`: none.
    fn reached(&self) -> u16 {
        if self.next == 0 { SLOTS } else { self.next as u16 % SLOTS }
    }

    /// Whether the page ends in the slot in which it started, so that the slot is not complete.
    pub fn is_within(&self, slot: u16) -> bool {
        self.reached() == slot
    }

    /// Returns how far the page is complete. `owns` and `is_migrating` state what the process
    /// reported after it had returned the page.
    pub fn progress(
        &self,
        from: u16,
        owns: impl Fn(u16) -> bool,
        is_migrating: impl Fn(u16) -> bool,
    ) -> Progress {
        let reached = self.reached();
        let stop =
            (from..SLOTS.min(reached.saturating_add(1))).find(|&slot| !owns(slot) || is_migrating(slot));
        match stop {
            None if reached == SLOTS => Progress::Until(SLOTS),
            None => Progress::Complete,
            Some(slot) if slot > from => Progress::Until(slot),
            Some(_) if owns(from) => Progress::Importer,
            Some(_) => Progress::Again,
        }
    }

    /// Encodes the reply for the client with the keys of these slots, or with all keys. `None`: the
    /// scan is complete.
    pub fn encode(&self, cursor: Option<Cursor>, slots: Option<Range<u16>>) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.keys.len() + 32);
        encode::array(&mut out, 2);
        encode::bulk(&mut out, cursor.map_or(0, Cursor::number).to_string().as_bytes());
        let Some(slots) = slots else {
            out.extend_from_slice(&self.keys);
            return out;
        };
        let is_kept = |key: &&[u8]| text(key).is_some_and(|key| slots.contains(&resp::slot::of_key(key)));
        let kept: Vec<_> = items(&self.keys).unwrap_or_default().into_iter().filter(is_kept).collect();
        encode::array(&mut out, kept.len());
        kept.into_iter().for_each(|key| out.extend_from_slice(key));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(next: u64) -> Page {
        Page { next, keys: b"*2\r\n$1\r\na\r\n$1\r\nb\r\n".to_vec(), process: 0 }
    }

    #[test]
    fn a_page_is_complete_up_to_the_first_slot_that_the_process_did_not_own() {
        let owns = |slots: Range<u16>| move |slot| slots.contains(&slot);
        let nothing = |_| false;
        assert_eq!(page(7).progress(3, owns(0..8), nothing), Progress::Complete);
        assert_eq!(page(0).progress(3, owns(0..SLOTS), nothing), Progress::Until(SLOTS));
        // The next slot of the process is not the next slot.
        assert_eq!(page(7).progress(3, |slot| slot < 5 || slot == 7, nothing), Progress::Until(5));
        assert_eq!(page(0).progress(3, owns(0..8), nothing), Progress::Until(8));
        assert_eq!(page(7).progress(3, owns(4..8), nothing), Progress::Again);
        assert_eq!(page(7).progress(3, owns(0..8), |slot| slot == 3), Progress::Importer);
        assert_eq!(page(7).progress(3, owns(0..8), |slot| slot == 5), Progress::Until(5));
        assert_eq!(page(7).progress(3, owns(0..7), nothing), Progress::Until(7));
    }

    #[test]
    fn keys_of_other_slots_are_removed() {
        let (a, b) = (resp::slot::of_key(b"a"), resp::slot::of_key(b"b"));
        assert!(b < a);
        let all = page(1).encode(None, None);
        assert_eq!(all, b"*2\r\n$1\r\n0\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n");
        assert_eq!(page(1).encode(None, Some(0..a)), b"*2\r\n$1\r\n0\r\n*1\r\n$1\r\nb\r\n");
        assert_eq!(page(1).encode(None, Some(0..SLOTS)), all);
        let next = Cursor::start_of(a);
        assert!(page(1).encode(Some(next), Some(b..b)).ends_with(b"\r\n*0\r\n"));
    }
}
