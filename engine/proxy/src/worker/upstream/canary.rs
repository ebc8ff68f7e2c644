//! The canary of one primary: its request and its state.

use crate::topology::TargetNumber;
use resp::{encode, slot};
use std::sync::OnceLock;

/// Prefix of the canary keys. The engine user for canaries may access no other keys.
const PREFIX: &str = "shardboard:canary:";

/// The canary of one primary.
#[derive(Debug)]
pub struct Canary {
    pub slot: u16,
    pub request: Vec<u8>,
    /// The primary that received the last canary, and the time; 0: send immediately.
    pub target: TargetNumber,
    pub asked_at: u64,
    pub is_under_way: bool,
}

impl Canary {
    pub fn new(slot: u16, target: TargetNumber) -> Self {
        let key = format!("{PREFIX}{{{}}}", tags()[usize::from(slot)]);
        let mut request = Vec::new();
        // It is rejected where writes are rejected, and its interval is empty, so it creates and
        // changes no key. Applications rarely use the command, so agents exclude it from the
        // traffic.
        encode::command(&mut request, [b"ZREMRANGEBYLEX", key.as_bytes(), b"+", b"-"].into_iter());
        Self { slot, request, target, asked_at: 0, is_under_way: false }
    }
}

/// Returns a hash tag, which is a number, for each slot.
fn tags() -> &'static [u32] {
    static TAGS: OnceLock<Vec<u32>> = OnceLock::new();
    TAGS.get_or_init(|| {
        let mut tags = vec![u32::MAX; usize::from(slot::SLOTS)];
        let mut missing = tags.len();
        for tag in 0.. {
            let tag_of_slot = &mut tags[usize::from(slot::of_key(tag.to_string().as_bytes()))];
            if *tag_of_slot == u32::MAX {
                *tag_of_slot = tag;
                missing -= 1;
            }
            if missing == 0 {
                break;
            }
        }
        tags
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_has_a_key() {
        for slot in [0, 1, 866, slot::SLOTS - 1] {
            let request = Canary::new(slot, 0).request;
            let key = request.split(|&byte| byte == b'\n').nth(4).unwrap().trim_ascii_end();
            assert!(key.starts_with(PREFIX.as_bytes()));
            assert_eq!(slot::of_key(key), slot);
        }
    }
}
