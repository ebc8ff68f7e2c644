/** PromQL queries that compute a chart's values from the console's /metrics export. Pure. */

type Query = (where: (more?: string) => string) => string;

const rate =
  (name: string): Query =>
  (where) =>
    `sum(rate(${name}${where()}[1m]))`;
const total =
  (name: string, more?: string): Query =>
  (where) =>
    `sum(${name}${where(more)})`;
const quotient =
  (a: Query, b: Query): Query =>
  (where) =>
    `${a(where)} / ${b(where)}`;
const plus =
  (...parts: Query[]): Query =>
  (where) =>
    parts.map((part) => part(where)).join(' + ');
const inside =
  (query: Query): Query =>
  (where) =>
    `(${query(where)})`;

const KINDS = ['read', 'write', 'other'];

/** Request rates: of clients at endpoints, or of commands at shards. */
const requests = (name: (kind: string) => string): Record<string, Query> => ({
  total_req: plus(...KINDS.map((kind) => rate(name(kind)))),
  ...Object.fromEntries(KINDS.map((kind) => [`${kind}_req`, rate(name(kind))])),
});
const hits = rate('redis_server_keyspace_read_hits');
const misses = rate('redis_server_keyspace_read_misses');
const opened = total('endpoint_client_connections');
const closed = total('endpoint_client_disconnections');
const resident = total('redis_server_process_resident_memory_bytes');
const used = total('redis_server_used_memory');
const pings = 'shardboard_shard_responsiveness_seconds';

/** Latency histogram in microseconds, the unit of the REST API. */
const histogram =
  (kinds: readonly string[], part: string, by = ''): Query =>
  (where) =>
    kinds
      .map((kind) => `endpoint_${kind}_requests_latency_histogram_${part}`)
      .map((name) => `sum${by}(rate(${name}${where()}[1m]))`)
      .join(' + ');

function latencies(infix: string, kinds: readonly string[]): Record<string, Query> {
  const average = quotient(inside(histogram(kinds, 'sum')), inside(histogram(kinds, 'count')));
  const buckets = histogram(kinds, 'bucket', ' by (le) ');
  const at =
    (quantile: number): Query =>
    (where) =>
      `histogram_quantile(${quantile}, ${buckets(where)})`;
  return {
    [`avg_${infix}latency`]: average,
    [`p50_${infix}latency`]: at(0.5),
    [`p99_${infix}latency`]: at(0.99),
    [`p999_${infix}latency`]: at(0.999),
  };
}

/** Metrics of endpoints. */
const ENDPOINT: Readonly<Record<string, Query>> = {
  ...requests((kind) => `endpoint_${kind}_requests`),
  conns: (where) => `${opened(where)} - ${closed(where)}`,
  ingress_bytes: rate('endpoint_ingress'),
  egress_bytes: rate('endpoint_egress'),
  errors: rate('shardboard_endpoint_errors'),
};

/** Metrics of shards. */
const SHARD: Readonly<Record<string, Query>> = {
  ...requests((kind) => `shardboard_shard_${kind}_commands`),
  used_memory: used,
  used_memory_rss: resident,
  no_of_keys: total('redis_server_db_keys', 'role="master"'),
  hit_ratio: quotient(hits, inside(plus(hits, misses))),
  read_hits: hits,
  read_misses: misses,
  connected_clients: total('redis_server_connected_clients'),
  ingress_bytes: rate('redis_server_total_net_input_bytes'),
  egress_bytes: rate('redis_server_total_net_output_bytes'),
  evicted_objects: rate('redis_server_evicted_keys'),
  expired_objects: rate('redis_server_expired_keys'),
  mem_frag_ratio: quotient(resident, used),
  main_thread_cpu: rate('namedprocess_namegroup_thread_cpu_seconds_total'),
  responsiveness: (where) => `1000 * max(${pings}${where()})`,
};

const flashKeys = (kinds: readonly string[], tiers: readonly string[]): Query =>
  plus(
    ...kinds.flatMap((kind) =>
      tiers.map((tier) => rate(`redis_server_ram_${kind}_hit_ratio_${tier}`)),
    ),
  );
const ramHit = (...kinds: string[]): Query =>
  quotient(inside(flashKeys(kinds, ['ram'])), inside(flashKeys(kinds, ['ram', 'flash'])));
const slowest =
  (name: string): Query =>
  (where) =>
    `1000000 * max(${name}${where()})`;

/** Metrics of shards on flash. */
const FLASH: Readonly<Record<string, Query>> = {
  ram_hit_ratio: ramHit('fetch', 'write', 'del'),
  fetch_ram_hit_ratio: ramHit('fetch'),
  write_ram_hit_ratio: ramHit('write'),
  del_ram_hit_ratio: ramHit('del'),
  used_ram: total('redis_server_used_ram'),
  used_bigstore: total('redis_server_used_disk'),
  flash_file_bytes: total('shardboard_shard_flash_file_bytes'),
  bigstore_objs_ram: total('redis_server_bigdb_ram', 'role="master"'),
  bigstore_objs_flash: total('redis_server_bigdb_disk', 'role="master"'),
  bigstore_io_reads: rate('redis_server_big_io_reads'),
  bigstore_io_writes: rate('redis_server_big_io_writes'),
  bigstore_io_read_bytes: rate('redis_server_big_io_reads_bytes'),
  bigstore_io_write_bytes: rate('redis_server_big_io_writes_bytes'),
  promotions: rate('shardboard_shard_promotions'),
  demotions_clean: rate('redis_server_ram_clean_evictions'),
  demotions_dirty: rate('redis_server_ram_dirty_evictions'),
  flash_read_p50: slowest('shardboard_shard_flash_read_p50_seconds'),
  flash_read_p99: slowest('shardboard_shard_flash_read_p99_seconds'),
};

/** Metrics of databases and of the cluster. */
const DATA: Readonly<Record<string, Query>> = {
  ...SHARD,
  ...ENDPOINT,
  ...latencies('', KINDS),
  ...latencies('read_', ['read']),
  ...latencies('write_', ['write']),
  ...latencies('other_', ['other']),
};

const cpu = (mode: string): Query => {
  const seconds = 'node_cpu_seconds_total';
  return (where) =>
    `sum(rate(${seconds}${where(`mode=~"${mode}"`)}[1m])) / ${rate(seconds)(where)}`;
};

/** Metrics of machines. Shard metrics of a node use the same queries as those of databases. */
const MACHINE: Readonly<Record<string, Query>> = {
  ...SHARD,
  conns: total('redis_server_connected_clients'),
  cpu_user: cpu('user|nice'),
  cpu_system: cpu('system|irq|steal'),
  cpu_iowait: cpu('iowait'),
  cpu_idle: cpu('idle'),
  free_memory: total('node_memory_MemFree_bytes'),
  available_memory: total('node_available_memory_bytes'),
  ingress_bytes: rate('node_network_receive_bytes_total'),
  egress_bytes: rate('node_network_transmit_bytes_total'),
  disk_read_bytes: rate('node_disk_read_bytes_total'),
  disk_write_bytes: rate('node_disk_written_bytes_total'),
  persistent_storage_avail: total('node_persistent_storage_avail_bytes'),
  agent_cpu: rate('shardboard_agent_cpu_seconds_total'),
  agent_rss: total('shardboard_agent_resident_memory_bytes'),
};

interface Kind {
  queries: Readonly<Record<string, Query>>;
  label?: string;
}

const CLUSTER: Kind = { queries: DATA };
const KIND: Readonly<Record<string, Kind>> = {
  bdbs: { queries: DATA, label: 'db' },
  nodes: { queries: MACHINE, label: 'node' },
  shards: { queries: SHARD, label: 'redis' },
  endpoints: { queries: ENDPOINT, label: 'proxy' },
  flash: { queries: FLASH, label: 'db' },
};

/**
 * Return the PromQL query of each series, one per line. If there are several series, a comment with
 * the label precedes each query. Return undefined if a metric is not exported.
 */
export function promql(
  topic: string,
  uids: readonly string[],
  series: readonly { metric: string; label: string; scale?: number }[],
): string | undefined {
  const { queries: available, label: name } = KIND[topic.split(':')[0] ?? topic] ?? CLUSTER;
  const where = selector(name, uids);
  const queries = series.map(({ metric, label, scale }) => {
    const query = available[metric]?.(where);
    const scaled = query && scale !== undefined && scale !== 1 ? `(${query}) * ${scale}` : query;
    return scaled && (series.length > 1 ? `# ${label}\n${scaled}` : scaled);
  });
  return queries.every(Boolean) ? queries.join('\n') : undefined;
}

function selector(label: string | undefined, uids: readonly string[]) {
  // Proxies are identified by "<database>:<endpoint>:<proxy>".
  const ids = uids.map((uid) => uid.split(':').at(-1));
  const endpoint = label === 'proxy' ? `endpoint="${uids[0]?.replace(/:\d+$/, '')}",` : '';
  const matcher = `${endpoint}${label}${ids.length === 1 ? `="${ids[0]}"` : `=~"${ids.join('|')}"`}`;
  return (more?: string): string => {
    const all = [label ? matcher : '', more].filter(Boolean).join(',');
    return all && `{${all}}`;
  };
}
