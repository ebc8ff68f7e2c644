//! Destinations of requests that a shard has redirected or refused.

use crate::topology::TargetNumber;
use crate::worker::io::Io;
use crate::worker::reports::Reports;
use crate::worker::types::request::{Pending, To};
use crate::worker::upstream::backend::Backend;
use crate::worker::upstream::db::Db;
use resp::slot::SLOTS;
use std::net::{IpAddr, SocketAddr};

/// Interval in microseconds at which the same unknown address is reported to the agent.
const REPORT_INTERVAL: u64 = 1_000_000;

impl Db {
    /// Returns the destination of a request after this error reply, or `None` if the client receives
    /// the error.
    pub fn destination(
        &mut self,
        io: &Io,
        reports: &Reports,
        backend: &Backend,
        pending: &Pending,
        frame: &[u8],
    ) -> Option<To> {
        let line = std::str::from_utf8(frame.get(1..)?).ok()?.trim_end();
        let mut words = line.split(' ');
        match words.next()? {
            "MOVED" => {
                if pending.has_unknown_keys {
                    // The shard has determined the slot from the keys of the request.
                    let slot = words.next()?.parse().ok().filter(|&slot: &u16| slot < SLOTS)?;
                    return (slot != pending.slot).then_some(To::Slot(slot));
                }
                let (slot, address) = self.parse_slot_owner(backend, pending, words)?;
                let Some(target) = self.topology.listed(address) else {
                    self.report_unlisted(io, reports, slot, address);
                    return pending.can_wait(io.now).then_some(To::AfterUpdate);
                };
                self.apply_moved(reports, slot, target);
                // Applies even if another endpoint serves the slot now: the request was valid when
                // it arrived, and clients must not receive the addresses of shards.
                Some(To::Owner)
            }
            "ASK" => {
                let (slot, address) = self.parse_slot_owner(backend, pending, words)?;
                match self.topology.listed(address) {
                    Some(target) => Some(To::Asking(target)),
                    None => {
                        self.report_unlisted(io, reports, slot, address);
                        pending.can_wait(io.now).then_some(To::AfterUpdate)
                    }
                }
            }
            "CLUSTERDOWN" | "READONLY" | "LOADING" | "MASTERDOWN" | "TRYAGAIN" => {
                pending.can_wait(io.now).then_some(To::Later)
            }
            // A primary that is demoted ends the blocking of its clients with this error.
            "UNBLOCKED" if words.next() == Some("force") => Some(To::Later),
            _ => None,
        }
    }

    /// Parses `<slot> <host>:<port>`, if it concerns the slot of the request.
    fn parse_slot_owner<'a>(
        &self,
        backend: &Backend,
        pending: &Pending,
        mut words: impl Iterator<Item = &'a str>,
    ) -> Option<(u16, SocketAddr)> {
        let slot = words.next()?.parse().ok().filter(|&slot: &u16| slot == pending.slot)?;
        Some((slot, self.parse_address(backend, words.next()?)?))
    }

    /// Parses `host:port` in the format of shards. An empty host means the shard that returned it.
    fn parse_address(&self, backend: &Backend, text: &str) -> Option<SocketAddr> {
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok()?;
        let ip: IpAddr = match host {
            "" => self.topology.targets[usize::from(backend.target)].address.ip(),
            host => host.parse().ok()?,
        };
        Some(SocketAddr::new(ip, port))
    }

    /// Learns the owner of a slot from the process that was considered its owner.
    pub fn learn_owner(
        &mut self,
        io: &Io,
        reports: &Reports,
        process: TargetNumber,
        slot: u16,
        owner: SocketAddr,
    ) {
        if self.topology.owner(slot) != Some(process) {
            return;
        }
        match self.topology.listed(owner) {
            Some(target) => self.apply_moved(reports, slot, target),
            None => self.report_unlisted(io, reports, slot, owner),
        }
    }

    fn apply_moved(&mut self, reports: &Reports, slot: u16, target: TargetNumber) {
        if self.topology.moved(slot, target) {
            self.topology_version = self.topology_version.wrapping_add(1);
            self.note_moved(Some(slot));
            let address = self.topology.targets[usize::from(target)].address;
            reports.report_owner(self.config.uid, slot, address);
        }
    }

    /// Reports an address that the agent has not named, at most once a second for the same one. The
    /// address is not used.
    fn report_unlisted(&mut self, io: &Io, reports: &Reports, slot: u16, address: SocketAddr) {
        let is_reported = self.last_reported_owner.is_some_and(|(other, reported, at)| {
            (other, reported) == (slot, address) && io.now < at + REPORT_INTERVAL
        });
        if !is_reported {
            self.last_reported_owner = Some((slot, address, io.now));
            reports.report_owner(self.config.uid, slot, address);
        }
    }
}
