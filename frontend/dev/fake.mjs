/** A stand-in for the console: enough REST and stream to work on the page without a backend. */
import { createServer } from 'node:http';
import { readFileSync, existsSync } from 'node:fs';
import { join, extname } from 'node:path';

const PORT = Number(process.env.PORT || 8090);
const NODES = Number(process.env.NODES || 3);
const SHARDS = Number(process.env.SHARDS || 6);
const REPL = process.env.REPL !== '0';
const EMPTY = process.env.EMPTY === '1';
const TROUBLE = process.env.TROUBLE === '1';
const dist = new URL('../dist/', import.meta.url).pathname;
const GiB = 2 ** 30;
const iso = (ms = Date.now()) => new Date(ms).toISOString();
const nodes = [], bdbs = [], shards = [], events = [], actions = [];
let nextShard = 1, nextBdb = 1, nextEvent = 1, state = 1;
const streams = new Set();

function log(type, description, more = {}) {
  const e = { uid: nextEvent++, time: iso(more.at), type, severity: 'INFO', source: 'cluster', originator: 'system', description, ...more };
  delete e.at;
  events.push(e);
  change('event', e.uid, e);
}
function change(kind, uid, object) {
  state++;
  for (const s of streams) s.send('change', { kind, uid, object });
}
function addNode() {
  const uid = nodes.length + 1;
  const n = { uid, addr: `127.0.0.${uid}`, status: 'active', agent_status: 'connected', agent_version: '0.1.0', last_seen: iso(), hostname: `shard-host-${uid}`, free_ram: 4 * GiB, machine_id: 'm', engine_version: '8.0.2', accept_servers: true, architecture: 'x86_64', cores: 2, os_name: 'Debian GNU/Linux', os_version: '12', total_memory: 7.65 * GiB, persistent_storage_size: 80 * GiB, shard_count: 0, uptime: 41230, rack_id: '' };
  nodes.push(n); change('node', uid, n);
  log('node_joined', `Node ${uid} joined.`, { node_uid: uid, source: 'node' });
}
function addBdb(body, ready = false) {
  const uid = nextBdb++;
  const b = { uid, type: 'redis', status: ready ? 'active' : 'pending', status_detail: '', progress: ready ? 100 : 0, port: 0, eviction_policy: 'volatile-lru', replication: false, sharding: false, shards_count: 1, shards_placement: 'dense', proxy_policy: 'single', oss_cluster: false, data_persistence: 'disabled', tags: [], version: '8.0.2', redis_version: '8.0', ...body, created_time: iso(), last_changed_time: iso(), shard_list: [], endpoints: [{ uid: `${uid}:1`, addr: ['127.0.0.1'], addr_type: 'internal', dns_name: `redis-${12000 + uid}.demo.local`, port: body.port || 12000 + uid }], authentication_admin_pass: 'secretsecret' };
  bdbs.push(b);
  const n = b.shards_count;
  for (let p = 0; p < n; p++) for (let r = 0; r < (b.replication ? 2 : 1); r++) {
    const node = nodes[(p + r) % nodes.length].uid;
    const su = nextShard++;
    const from = Math.floor(p * 16384 / n), to = Math.floor((p + 1) * 16384 / n) - 1;
    const sh = { uid: String(su), bdb_uid: uid, node_uid: String(node), role: r ? 'slave' : 'master', actual_role: r ? 'slave' : 'master', status: ready ? 'active' : 'inactive', detailed_status: ready ? 'ok' : 'unknown', assigned_slots: `${from}-${to}`, pair: p, address: `127.0.0.${node}`, port: 20000 + su, pid: 4000 + su, started_at: iso(), used_memory: 9e6, loading: { status: 'idle' }, sync: r ? { status: 'idle', progress: 0 } : undefined, report_timestamp: iso() };
    if (TROUBLE && p === 1 && r) sh.node_uid = String(nodes[p % nodes.length].uid);
    if (TROUBLE && p === 2 && r) Object.assign(sh, { status: 'inactive', detailed_status: 'down', detail: 'The process ended with signal 9.' });
    if (TROUBLE && p === 3 && r) sh.sync.status = 'in_progress';
    shards.push(sh); b.shard_list.push(su);
    nodes[node - 1].shard_count++;
    change('shard', sh.uid, sh);
  }
  b.shards_total = b.shard_list.length; b.shards_in_sync = ready ? b.shards_total : 0;
  change('bdb', uid, b);
  log('bdb_created', `Database ${b.name} was created with ${n} shards.`, { bdb_uid: uid, bdb_name: b.name, source: 'bdb', originator: 'admin@shardboard.local' });
  if (!ready) act('SMCreateBDB', `Create database ${b.name}`, uid, ['Start shard processes', 'Assign slots', 'Attach replicas', 'Open endpoint'], (p) => {
    b.progress = p; b.last_changed_time = iso();
    if (p >= 100) {
      b.status = 'active'; b.shards_in_sync = b.shards_total;
      for (const s of shards.filter((x) => x.bdb_uid === uid)) { s.status = 'active'; s.detailed_status = 'ok'; s.report_timestamp = iso(); change('shard', s.uid, { ...s }); }
      log('bdb_activated', `Database ${b.name} is active.`, { bdb_uid: uid, bdb_name: b.name, source: 'bdb' });
    }
    change('bdb', uid, { ...b });
  });
  return b;
}
function act(name, description, uid, steps, tick) {
  const a = { action_uid: crypto.randomUUID(), action_type: 'state-machine', name, status: 'running', progress: 0, creation_time: Math.floor(Date.now() / 1000), additional_info: { description, object_type: 'bdb', object_uid: uid, steps: steps.map((s) => ({ name: s, status: 'queued' })) } };
  actions.push(a);
  const timer = setInterval(() => {
    a.progress = Math.min(100, a.progress + 12.5);
    a.additional_info.steps = steps.map((s, i) => ({ name: s, status: a.progress >= (i + 1) * 100 / steps.length ? 'completed' : a.progress >= i * 100 / steps.length ? 'running' : 'queued' }));
    if (a.progress >= 100) { a.status = 'completed'; clearInterval(timer); }
    tick(a.progress);
    change('action', a.action_uid, structuredClone(a));
  }, 500);
  change('action', a.action_uid, structuredClone(a));
  return a;
}

const BM = 'total_req read_req write_req other_req used_memory no_of_keys hit_ratio read_hits read_misses conns ingress_bytes egress_bytes evicted_objects expired_objects mem_frag_ratio main_thread_cpu responsiveness'.split(' ');
const NM = 'cpu_user cpu_system cpu_iowait cpu_idle free_memory available_memory ingress_bytes egress_bytes disk_read_bytes disk_write_bytes persistent_storage_free total_req used_memory conns agent_cpu agent_rss'.split(' ');
const SM = 'total_req read_req write_req other_req used_memory used_memory_rss no_of_keys hit_ratio connected_clients ingress_bytes egress_bytes evicted_objects expired_objects mem_frag_ratio main_thread_cpu responsiveness repl_lag_bytes'.split(' ');
const noise = (seed, t) => { const x = Math.sin(seed * 127.1 + t * 311.7) * 43758.5453; return x - Math.floor(x); };
const wave = (seed, t) => 1 + 0.15 * Math.sin((t + seed * 17) / 40) + 0.06 * (noise(seed, t) - 0.5);
const gap = (t) => t % 240 < 6;
function shardRow(s, t) {
  const u = Number(s.uid), hot = u % 11 === 0 ? 1.6 : 1;
  if (gap(t) && u % 3 === 0) return null;
  const rep = s.role === 'slave', w = wave(u, t) * hot;
  const rd = rep ? 0 : 5200 * w, wr = rep ? 5100 * w * 0.98 : 5100 * w;
  const mem = 9.1e6 * hot * (1 + 0.02 * noise(u, 1)) + (t % 900) * 2000;
  return [rd + wr + 3, rd, wr, 3, mem, mem * 1.2, Math.floor(mem / 120), rep ? null : 0.93 + 0.03 * noise(u, t), 12, 900e3 * w, 400e3 * w, 0, 20 * w, 1.2, 0.05 * w, 0.2 + 0.2 * noise(u, t), rep ? 300 * noise(u, t) : null];
}
function bdbRow(b, t) {
  if (gap(t)) return null;
  const w = wave(b.uid, t), n = b.shards_count;
  const rd = 5200 * w * n, wr = 5100 * wave(b.uid + 5, t) * n;
  return [rd + wr + 40, rd, wr, 40, 9.3e6 * b.shard_list.length * (1 + (t % 900) / 4000), 76000 * n, 0.94, rd * .94, rd * .06, 52, 900e3 * n * w, 400e3 * n * w, 0, 20 * n * w, 1.21, .05 * n, .3 + .3 * noise(3, t)];
}
const nodeRow = (n, t) => { const w = wave(n.uid, t); return [.22 * w, .08 * w, .01 * noise(n.uid, t), .7, 2 * GiB, 4.2 * GiB * (1 - .02 * w), 3e6 * w, 2e6 * w, 40e3 * noise(n.uid, t), 900e3 * w, 61 * GiB, 20600 * w, 37e6, 30, .04, 62e6]; };
function series(topic, t) {
  const out = {};
  if (topic === 'nodes') for (const n of nodes) out[n.uid] = nodeRow(n, t);
  else if (topic === 'bdbs') for (const b of bdbs) { const r = bdbRow(b, t); if (r) out[b.uid] = r; }
  else if (topic === 'cluster') {
    const rows = bdbs.map((b) => bdbRow(b, t)).filter(Boolean);
    if (rows.length) out.cluster = BM.map((_, i) => rows.reduce((s, r) => s + r[i], 0));
  } else for (const s of shards) if (s.bdb_uid === Number(topic.slice(7)) && s.status === 'active') { const r = shardRow(s, t); if (r) out[s.uid] = r; }
  return out;
}
const metricsOf = (topic) => (topic === 'nodes' ? NM : topic.startsWith('shards') ? SM : BM);
function stream(req, res, q) {
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  const topics = (q.get('topics') || 'cluster,nodes,bdbs').split(',');
  let newest = 0;
  const s = { send: (ev, data) => res.write(`event: ${ev}\nid: ${newest}\ndata: ${JSON.stringify(data)}\n\n`) };
  const now = Math.floor(Date.now() / 1000) - 1;
  newest = now;
  s.send('hello', { server_time: Date.now(), version: '0.1.0', cluster_state_id: state, retention: 900 });
  const from = q.get('after') ? Number(q.get('after')) + 1 : now - Number(q.get('history') || 900) + 1;
  for (const topic of topics) {
    const out = {}; const count = now - from + 1;
    for (let i = 0; i < count; i++) { const ser = series(topic, from + i); for (const [u, r] of Object.entries(ser)) r.forEach((v, k) => { (out[u] ||= metricsOf(topic).map(() => new Array(count).fill(null)))[k][i] = v === null ? null : Math.round(v * 1000) / 1000; }); }
    s.send('history', { topic, metrics: metricsOf(topic), from, count, series: out });
  }
  streams.add(s);
  const timer = setInterval(() => {
    const t = Math.floor(Date.now() / 1000) - 1; if (t <= newest) return; newest = t;
    for (const topic of topics) s.send('sample', { topic, t, at: Date.now() - 150, series: series(topic, t) });
  }, 200);
  req.on('close', () => { clearInterval(timer); streams.delete(s); });
}

for (let i = 0; i < NODES; i++) addNode();
if (!EMPTY) {
  addBdb({ name: 'demo', memory_size: 2 * GiB, sharding: true, shards_count: SHARDS, replication: REPL, oss_cluster: true, shards_placement: 'sparse', proxy_policy: 'all-master-shards', tags: [{ key: 'env', value: 'demo' }] }, true);
  addBdb({ name: 'sessions', memory_size: 1 * GiB }, true);
  if (TROUBLE) { Object.assign(bdbs[1], { status: 'creation-failed', status_detail: 'Node 2 could not start redis:13: port 20013 is in use by another process.' }); for (const s of shards.filter((x) => x.bdb_uid === 2)) shards.splice(shards.indexOf(s), 1); nodes[1].agent_status = 'lost'; nodes[1].last_seen = iso(Date.now() - 41000); }
  for (let i = 0; i < 250; i++) log('user_login', `Login succeeded (username: admin@shardboard.local).`, { at: Date.now() - (250 - i) * 60000, source: 'user', originator: 'admin@shardboard.local' });
  log('node_agent_lost', 'Node 2 stopped answering.', { at: Date.now() - 150000, severity: 'WARNING', source: 'node', node_uid: 2 });
  log('shard_down', 'Shard redis:4 went down: the process ended with signal 9.', { at: Date.now() - 100000, severity: 'ERROR', source: 'shard', bdb_uid: 1, bdb_name: 'demo', shard_uid: 4, node_uid: 2 });
  log('bdb_name_updated', 'Database cache was renamed to demo.', { at: Date.now() - 60000, source: 'bdb', bdb_uid: 1, bdb_name: 'demo', originator: 'admin@shardboard.local' });
}

const CSP = "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:";
const MIME = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.html': 'text/html' };
createServer(async (req, res) => {
  const url = new URL(req.url, 'http://x'); const p = url.pathname; const m = req.method;
  const send = (code, body, headers = {}) => { res.writeHead(code, { 'content-type': 'application/json', 'cluster-state-id': String(state), ...headers }); res.end(JSON.stringify(body)); };
  const fail = (code, error_code, description, field) => send(code, { error_code, description, message: description, ...(field ? { field } : {}) });
  let body = ''; for await (const c of req) body += c;
  const json = body ? JSON.parse(body) : {};
  if (!p.startsWith('/v1') && !p.startsWith('/v2')) {
    let f = join(dist, p); if (p === '/' || !existsSync(f)) f = join(dist, 'index.html');
    res.writeHead(200, { 'content-type': MIME[extname(f)] || 'application/octet-stream', 'content-security-policy': CSP });
    return res.end(readFileSync(f));
  }
  const session = { username: 'admin@shardboard.local', role: 'admin', cluster_name: 'cluster.local', version: '0.1.0' };
  if (p === '/v1/session' && m === 'POST') return json.password === 'secret' ? send(200, session, { 'set-cookie': 'shardboard_session=x; HttpOnly; SameSite=Strict; Path=/' }) : fail(401, 'unauthorized', 'User or password is wrong.');
  if (!(req.headers.cookie || '').includes('shardboard_session=x')) return fail(401, 'unauthorized', 'Sign in first.');
  if (m !== 'GET' && req.headers['x-requested-with'] !== 'shardboard') return fail(403, 'forbidden', 'Missing header.');
  if (p === '/v1/session') return m === 'DELETE' ? send(200, {}, { 'set-cookie': 'shardboard_session=; Max-Age=0; Path=/' }) : send(200, session);
  if (p === '/v1/stream') return stream(req, res, url.searchParams);
  if (p === '/v1/cluster') return send(200, { name: 'cluster.local' });
  if (p === '/v1/nodes') return send(200, nodes);
  if (p === '/v1/shards') return send(200, shards);
  if (p === '/v2/actions') return send(200, actions);
  if (p === '/v1/logs') { const o = Number(url.searchParams.get('offset') || 0), l = Number(url.searchParams.get('limit') || 100); return send(200, [...events].reverse().slice(o, o + l)); }
  if (p === '/v1/join_tokens') { setTimeout(addNode, 6000); return send(200, { token: 'abc', expires_at: iso(Date.now() + 600000), command: 'shardboard agent --join https://console.example:9443 --token 4fY-s2rQ…9x --ca-sha256 8d5f7c --address <this machine>' }); }
  if (p === '/v1/bdbs' && m === 'GET') return send(200, bdbs);
  if (p === '/v1/bdbs' && m === 'POST') { if (bdbs.some((b) => b.name === json.name)) return fail(409, 'name_already_exists', `A database named ${json.name} exists already.`, 'name'); return send(200, addBdb(json)); }
  const mm = /^\/v1\/bdbs\/(\d+)(\/flush)?$/.exec(p); const b = mm && bdbs.find((x) => x.uid === Number(mm[1]));
  if (b && m === 'GET') return send(200, b);
  if (b && mm[2]) { act('SMFlushBDB', `Flush database ${b.name}`, b.uid, ['Flush shards'], () => {}); return send(200, b); }
  if (b && m === 'PUT') { Object.assign(b, json, { last_changed_time: iso() }); change('bdb', b.uid, { ...b }); return send(200, b); }
  if (b && m === 'DELETE') { b.status = 'delete-pending'; b.last_changed_time = iso(); change('bdb', b.uid, { ...b }); act('SMDeleteBDB', `Delete database ${b.name}`, b.uid, ['Stop shards', 'Remove data'], (pr) => { if (pr >= 100) { bdbs.splice(bdbs.indexOf(b), 1); change('bdb', b.uid, null); for (const s of shards.filter((x) => x.bdb_uid === b.uid)) { shards.splice(shards.indexOf(s), 1); change('shard', s.uid, null); } log('bdb_deleted', `Database ${b.name} was deleted.`, { source: 'bdb' }); } }); return send(200, b); }
  return fail(404, 'not_found', 'No such path.');
}).listen(PORT, '127.0.0.1', () => console.log(`fake console on http://127.0.0.1:${PORT}`));
