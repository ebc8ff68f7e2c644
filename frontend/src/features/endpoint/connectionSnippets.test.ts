import { describe, expect, it } from 'vitest';
import type { Endpoint } from '@/api/types';
import { CLIENTS, connectionOf } from './connectionSnippets';

const proxy = (uid: number, status: 'active' | 'down' = 'active') => ({
  uid,
  address: `10.0.0.${uid}`,
  status,
  detail: '',
  threads: 2,
  connections: 0,
});

const endpoint = (part: Partial<Endpoint> = {}): Endpoint => ({
  uid: '1:1',
  port: 12_000,
  proxy_policy: 'all-nodes',
  mode: 'hidden',
  tls: false,
  authentication: false,
  proxies: [proxy(1), proxy(2)],
  ...part,
});

function lines(part: Partial<Endpoint> = {}): Record<string, string> {
  const to = connectionOf(endpoint(part));
  if (!to) throw new Error('no address to connect to');
  return Object.fromEntries(CLIENTS.map(({ id, snippet: render }) => [id, render(to)]));
}

describe('connection snippets', () => {
  it('use a single-node client if the endpoint hides the cluster', () => {
    expect(lines()).toEqual({
      'valkey-cli': 'valkey-cli -h 10.0.0.1 -p 12000',
      'valkey-py': 'import valkey\ndb = valkey.Valkey(host="10.0.0.1", port=12000)',
      'glide-python':
        'from glide import *\ndb = await GlideClient.create(GlideClientConfiguration([NodeAddress("10.0.0.1", 12000)]))',
      iovalkey:
        "import Valkey from 'iovalkey';\nconst db = new Valkey({ host: '10.0.0.1', port: 12000 });",
      'glide-node':
        "import { GlideClient } from '@valkey/valkey-glide';\nconst db = await GlideClient.createClient({ addresses: [{ host: '10.0.0.1', port: 12000 }] });",
      'valkey-go':
        'import "github.com/valkey-io/valkey-go"\ndb, err := valkey.NewClient(valkey.ClientOption{InitAddress: []string{"10.0.0.1:12000"}, ForceSingleClient: true})',
      'redis-py': 'import redis\ndb = redis.Redis(host="10.0.0.1", port=12000)',
      ioredis:
        "import Redis from 'ioredis';\nconst db = new Redis({ host: '10.0.0.1', port: 12000 });",
      'node-redis':
        "import { createClient } from 'redis';\nconst db = await createClient({ url: 'redis://10.0.0.1:12000' }).connect();",
      go: 'import "github.com/redis/go-redis/v9"\ndb := redis.NewClient(&redis.Options{Addr: "10.0.0.1:12000"})',
    });
  });

  it('use a cluster client with all proxies as seeds if the endpoint has the cluster API', () => {
    const snippets = lines({ mode: 'oss_cluster' });
    expect(snippets['valkey-cli']).toBe('valkey-cli -c -h 10.0.0.1 -p 12000');
    expect(snippets['redis-py']).toContain('redis.RedisCluster(host="10.0.0.1"');
    expect(snippets.ioredis).toContain(
      "new Redis.Cluster([{ host: '10.0.0.1', port: 12000 }, { host: '10.0.0.2', port: 12000 }])",
    );
    expect(snippets['node-redis']).toContain(
      "createCluster({ rootNodes: [{ url: 'redis://10.0.0.1:12000' }, { url: 'redis://10.0.0.2:12000' }] })",
    );
    expect(snippets.go).toContain(
      'redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"10.0.0.1:12000", "10.0.0.2:12000"}})',
    );
  });

  it('have placeholders for secrets in every client and mode', () => {
    for (const mode of ['hidden', 'oss_cluster'] as const) {
      for (const [client, text] of Object.entries(
        lines({ mode, tls: true, authentication: true }),
      )) {
        expect(text, client).toContain('<password>');
        expect(text, client).toContain('ca.pem');
      }
    }
  });

  it('put the address of an active proxy first', () => {
    const snippets = lines({ proxies: [proxy(1, 'down'), proxy(2)] });
    expect(snippets['valkey-cli']).toBe('valkey-cli -h 10.0.0.2 -p 12000');
    expect(connectionOf(endpoint({ proxies: [] }))).toBeNull();
  });
});
