//! CLUSTER from the perspective of this endpoint. A database in hidden mode has no cluster. In
//! cluster mode, each endpoint is the node that owns the slots of the primaries assigned to it.

use crate::command::Class;
use crate::control::{Database, Endpoint, Mode};
use crate::topology::Topology;
use crate::worker::clients::client::Client;
use crate::worker::requests::subcommands::is_word;
use crate::worker::types::request::Flow;
use crate::worker::upstream::db::Db;
use resp::{Args, encode};

/// A client that returns within this time (microseconds) was redirected back by another endpoint.
const BACK: u64 = 200_000;

impl Db {
    /// Whether this endpoint forwards a request for this slot. If a client returns immediately with
    /// the slot for which it was redirected, the other endpoint has newer information. The request
    /// is then forwarded, and this endpoint learns from the reply of the shards.
    #[inline]
    pub fn serves(&self, client: &mut Client, slot: u16) -> bool {
        self.topology.is_local_slot(slot) || was_redirected_back(client, slot)
    }

    /// Redirects the client, because the endpoint of another node serves the slot.
    #[cold]
    pub fn redirect_client(&self, client: &mut Client, class: Class, slot: u16) -> Flow {
        let Some(endpoint) = self.topology.proxy_of(slot).and_then(|proxy| self.config.proxies.get(proxy))
        else {
            client.reply(class, |out| encode::error(out, "CLUSTERDOWN Hash slot not served"));
            return Flow::Next;
        };
        let text = format!("MOVED {slot} {}:{}", endpoint.address, endpoint.port);
        client.reply(class, |out| encode::error(out, &text));
        Flow::Next
    }

    pub fn cluster(&self, client: &mut Client, args: &Args<'_>) -> Flow {
        let reply = match self.config.mode {
            Mode::Hidden => Err("ERR This instance has cluster support disabled".into()),
            Mode::OssCluster => answer(&self.topology, &self.config, args, self.is_resp3(client)),
        };
        client.reply(Class::Other, |out| match reply {
            Ok(reply) => out.extend_from_slice(&reply),
            Err(text) => encode::error(out, &text),
        });
        Flow::Next
    }
}

#[cold]
fn was_redirected_back(client: &mut Client, slot: u16) -> bool {
    let before = client.sent_away.replace((slot, client.read_at));
    let (read_at, is_alone) = (client.read_at, client.is_drained());
    before.is_some_and(|(other, at)| other == slot && at < read_at && read_at < at + BACK && is_alone)
}

type Ranges = Vec<(u16, u16, usize)>;

fn answer(topology: &Topology, config: &Database, args: &Args<'_>, resp3: bool) -> Result<Vec<u8>, String> {
    let proxies = &config.proxies;
    let word = |text| is_word(args, 1, text);
    let ranges = topology.ranges(|slot| topology.proxy_of(slot));
    let me = proxies.iter().find(|proxy| proxy.local);
    let mut out = Vec::new();
    if word("slots") {
        slots(&mut out, &ranges, proxies);
    } else if word("shards") {
        // All endpoints of a database accept the same kind of connection.
        let port = if config.tls.is_some() { "tls-port" } else { "port" };
        shards(&mut out, &ranges, proxies, port, resp3);
    } else if word("nodes") {
        encode::bulk(&mut out, nodes(&ranges, proxies).as_bytes());
    } else if word("info") {
        encode::bulk(&mut out, info(topology, &ranges, proxies).as_bytes());
    } else if word("myid") || word("myshardid") {
        encode::bulk(&mut out, me.map(|me| me.id.as_str()).unwrap_or_default().as_bytes());
    } else if word("keyslot") && args.len() == 3 {
        encode::integer(&mut out, i64::from(resp::slot::of_key(args.get(2).unwrap_or_default())));
    } else if word("links") || word("replicas") || word("slaves") {
        encode::array(&mut out, 0);
    } else if word("countkeysinslot") || word("getkeysinslot") {
        return Err("ERR CLUSTER of single slots is not available through the endpoint".into());
    } else {
        let name = String::from_utf8_lossy(args.get(1).unwrap_or_default()).into_owned();
        return Err(format!("ERR CLUSTER {name} is not available through the endpoint"));
    }
    Ok(out)
}

fn slots(out: &mut Vec<u8>, ranges: &Ranges, proxies: &[Endpoint]) {
    encode::array(out, ranges.len());
    for &(first, last, proxy) in ranges {
        encode::array(out, 3);
        encode::integer(out, i64::from(first));
        encode::integer(out, i64::from(last));
        encode::array(out, 4);
        encode::bulk(out, proxies[proxy].address.as_bytes());
        encode::integer(out, i64::from(proxies[proxy].port));
        encode::bulk(out, proxies[proxy].id.as_bytes());
        encode::array(out, 0);
    }
}

fn pairs(out: &mut Vec<u8>, n: usize, resp3: bool) {
    if resp3 { encode::map(out, n) } else { encode::array(out, n * 2) }
}

fn shards(out: &mut Vec<u8>, ranges: &Ranges, proxies: &[Endpoint], port: &str, resp3: bool) {
    encode::array(out, proxies.len());
    for (number, proxy) in proxies.iter().enumerate() {
        let own: Vec<_> = ranges.iter().filter(|range| range.2 == number).collect();
        pairs(out, 2, resp3);
        encode::bulk(out, b"slots");
        encode::array(out, own.len() * 2);
        for &&(first, last, _) in &own {
            encode::integer(out, i64::from(first));
            encode::integer(out, i64::from(last));
        }
        encode::bulk(out, b"nodes");
        encode::array(out, 1);
        pairs(out, 7, resp3);
        let text = |out: &mut Vec<u8>, name: &str, value: &str| {
            encode::bulk(out, name.as_bytes());
            encode::bulk(out, value.as_bytes());
        };
        text(out, "id", &proxy.id);
        encode::bulk(out, port.as_bytes());
        encode::integer(out, i64::from(proxy.port));
        text(out, "ip", &proxy.address);
        text(out, "endpoint", &proxy.address);
        text(out, "role", "master");
        encode::bulk(out, b"replication-offset");
        encode::integer(out, 0);
        text(out, "health", "online");
    }
}

fn nodes(ranges: &Ranges, proxies: &[Endpoint]) -> String {
    let mut lines = String::new();
    for (number, proxy) in proxies.iter().enumerate() {
        let flags = if proxy.local { "myself,master" } else { "master" };
        let (address, port) = (&proxy.address, proxy.port);
        // The bus port is a placeholder, because endpoints have no cluster bus.
        lines += &format!("{} {address}:{port}@{port} {flags} - 0 0 {} connected", proxy.id, number + 1);
        for (first, last, _) in ranges.iter().filter(|range| range.2 == number) {
            lines += &if first == last { format!(" {first}") } else { format!(" {first}-{last}") };
        }
        lines.push('\n');
    }
    lines
}

fn info(topology: &Topology, ranges: &Ranges, proxies: &[Endpoint]) -> String {
    let assigned: u32 = ranges.iter().map(|&(first, last, _)| u32::from(last - first) + 1).sum();
    let size = proxies.iter().enumerate().filter(|(n, _)| ranges.iter().any(|range| range.2 == *n)).count();
    let version = topology.version.unwrap_or(0);
    let state = if assigned == u32::from(resp::slot::SLOTS) { "ok" } else { "fail" };
    let lines = [
        format!("cluster_state:{state}"),
        format!("cluster_slots_assigned:{assigned}"),
        format!("cluster_slots_ok:{assigned}"),
        "cluster_slots_pfail:0".into(),
        "cluster_slots_fail:0".into(),
        format!("cluster_known_nodes:{}", proxies.len()),
        format!("cluster_size:{size}"),
        format!("cluster_current_epoch:{version}"),
        format!("cluster_my_epoch:{version}"),
    ];
    lines.join("\r\n") + "\r\n"
}
