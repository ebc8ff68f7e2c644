import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BDB_METRICS, NODE_METRICS, SHARD_METRICS } from './comparison/comparisonMetrics';
import { promql } from './promql';

/** Histograms export three series names (sum, count, bucket) per metric family. */
const family = (name: string) =>
  name.replace(
    /_(read|write|other)_requests_latency_histogram_(sum|count|bucket)$/,
    '_{kind}_requests_latency_histogram',
  );

const of = (topic: string, metric: string, uids = ['1']) =>
  promql(topic, uids, [{ metric, label: metric }]);

describe('promql', () => {
  it('selects one object, several objects or the entire cluster', () => {
    expect(of('bdbs', 'used_memory')).toBe('sum(redis_server_used_memory{db="1"})');
    expect(of('cluster', 'used_memory', ['cluster'])).toBe('sum(redis_server_used_memory)');
    expect(of('shards:1', 'read_req', ['7'])).toBe(
      'sum(rate(shardboard_shard_read_commands{redis="7"}[1m]))',
    );
    expect(of('shards:1', 'used_memory', ['7', '8'])).toBe(
      'sum(redis_server_used_memory{redis=~"7|8"})',
    );
  });

  it('selects the proxies of an endpoint', () => {
    expect(of('endpoints', 'errors', ['1:1:2'])).toBe(
      'sum(rate(shardboard_endpoint_errors{endpoint="1:1",proxy="2"}[1m]))',
    );
    expect(of('endpoints', 'read_req', ['1:1:1', '1:1:3'])).toBe(
      'sum(rate(endpoint_read_requests{endpoint="1:1",proxy=~"1|3"}[1m]))',
    );
    expect(of('endpoints', 'p99_latency', ['1:1:2'])).toBeUndefined();
  });

  it('uses different traffic metrics for nodes and databases', () => {
    expect(of('nodes', 'ingress_bytes')).toContain('node_network_receive_bytes_total{node="1"}');
    expect(of('bdbs', 'ingress_bytes')).toContain('endpoint_ingress{db="1"}');
  });

  it('supports ratios, scaled values and several series', () => {
    expect(of('nodes', 'cpu_user')).toBe(
      'sum(rate(node_cpu_seconds_total{node="1",mode=~"user|nice"}[1m])) / sum(rate(node_cpu_seconds_total{node="1"}[1m]))',
    );
    expect(promql('bdbs', ['1'], [{ metric: 'used_memory', label: 'Used', scale: 0.5 }])).toBe(
      '(sum(redis_server_used_memory{db="1"})) * 0.5',
    );
    expect(
      promql(
        'bdbs',
        ['1'],
        [
          { metric: 'read_req', label: 'Reads' },
          { metric: 'write_req', label: 'Writes' },
        ],
      ),
    ).toBe(
      '# Reads\nsum(rate(endpoint_read_requests{db="1"}[1m]))\n# Writes\nsum(rate(endpoint_write_requests{db="1"}[1m]))',
    );
  });

  it('computes percentiles from the buckets of all requests', () => {
    expect(of('bdbs', 'p99_read_latency')).toBe(
      'histogram_quantile(0.99, sum by (le) (rate(endpoint_read_requests_latency_histogram_bucket{db="1"}[1m])))',
    );
    expect(of('bdbs', 'avg_latency')?.match(/_(sum|count)\{/g)).toHaveLength(6);
  });

  it('returns undefined for metrics that are not exported', () => {
    expect(of('bdbs', 'write_misses')).toBeUndefined();
  });

  it('uses only metric families that the console exports', () => {
    const served = readFileSync(
      '../backend/shardboard/domain/metrics/prometheus_families.py',
      'utf8',
    );
    const topics = { bdbs: BDB_METRICS, nodes: NODE_METRICS, 'shards:1': SHARD_METRICS };
    for (const [topic, metrics] of Object.entries(topics)) {
      for (const { metric } of metrics) {
        const query = of(topic, metric) ?? '';
        expect(query, metric).not.toBe('');
        for (const name of query.match(/[a-zA-Z_]{8,}(?=[{[])/g) ?? [])
          expect(served).toContain(`"${family(name)}"`);
      }
    }
  });
});
