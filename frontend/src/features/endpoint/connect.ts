/** How to connect with the usual clients. Secrets are placeholders, always. Pure. */
import type { Endpoint } from '@/api/types';

export interface Address {
  host: string;
  port: number;
}

export interface Connection {
  addresses: readonly [Address, ...Address[]];
  cluster: boolean;
  tls: boolean;
  authentication: boolean;
}

export interface Client {
  id: string;
  label: string;
  lines: (to: Connection) => string;
}

const PASSWORD = '<password>';
const CA = '<ca.pem>';

/** Those that serve come first; null as long as there is none. */
export function connectionOf(endpoint: Endpoint): Connection | null {
  const serves = (status: string) => (status === 'active' ? 0 : 1);
  const [first, ...rest] = [...endpoint.proxies]
    .sort((a, b) => serves(a.status) - serves(b.status))
    .map(({ address }) => ({ host: address, port: endpoint.port }));
  if (!first) return null;
  const { tls, authentication } = endpoint;
  return {
    addresses: [first, ...rest],
    cluster: endpoint.mode === 'oss_cluster',
    tls,
    authentication,
  };
}

export const hostPort = ({ host, port }: Address): string =>
  `${host.includes(':') ? `[${host}]` : host}:${port}`;

const list = (parts: (string | false)[], separator = ', '): string =>
  parts.filter(Boolean).join(separator);

function cli({ addresses: [{ host, port }], cluster, tls, authentication }: Connection): string {
  return list(
    [
      'valkey-cli',
      cluster && '-c',
      `-h ${host} -p ${port}`,
      tls && `--tls --cacert '${CA}'`,
      authentication && `-a '${PASSWORD}'`,
    ],
    ' ',
  );
}

function python({ addresses: [{ host, port }], cluster, tls, authentication }: Connection): string {
  const options = list([
    `host="${host}", port=${port}`,
    authentication && `password="${PASSWORD}"`,
    tls && `ssl=True, ssl_ca_certs="${CA}"`,
  ]);
  return ['import redis', `db = redis.${cluster ? 'RedisCluster' : 'Redis'}(${options})`].join(
    '\n',
  );
}

const READ_CA = `{ ca: readFileSync('${CA}') }`;
const IMPORT_READ = "import { readFileSync } from 'node:fs';";

function ioredis({ addresses, cluster, tls, authentication }: Connection): string {
  const secrets = [authentication && `password: '${PASSWORD}'`, tls && `tls: ${READ_CA}`];
  const places = addresses.map(({ host, port }) => `{ host: '${host}', port: ${port} }`);
  const [{ host, port }] = addresses;
  const options = list(secrets);
  const made = cluster
    ? `new Redis.Cluster(${list([`[${places.join(', ')}]`, options && `{ redisOptions: { ${options} } }`])})`
    : `new Redis({ ${list([`host: '${host}', port: ${port}`, ...secrets])} })`;
  return list(["import Redis from 'ioredis';", tls && IMPORT_READ, `const db = ${made};`], '\n');
}

function nodeRedis({ addresses, cluster, tls, authentication }: Connection): string {
  const url = (address: Address) => `'${tls ? 'rediss' : 'redis'}://${hostPort(address)}'`;
  const options = list([
    authentication && `password: '${PASSWORD}'`,
    tls && `socket: { tls: true, ca: readFileSync('${CA}') }`,
  ]);
  const roots = addresses.map((address) => `{ url: ${url(address)} }`).join(', ');
  const made = cluster
    ? `createCluster({ ${list([`rootNodes: [${roots}]`, options && `defaults: { ${options} }`])} })`
    : `createClient({ ${list([`url: ${url(addresses[0])}`, options])} })`;
  return list(
    [
      `import { ${cluster ? 'createCluster' : 'createClient'} } from 'redis';`,
      tls && IMPORT_READ,
      `const db = await ${made}.connect();`,
    ],
    '\n',
  );
}

function go({ addresses, cluster, tls, authentication }: Connection): string {
  const quoted = addresses.map((address) => `"${hostPort(address)}"`);
  const options = list([
    cluster ? `Addrs: []string{${quoted.join(', ')}}` : `Addr: ${quoted[0]}`,
    authentication && `Password: "${PASSWORD}"`,
    tls && 'TLSConfig: &tls.Config{RootCAs: ca}',
  ]);
  const made = cluster ? 'NewClusterClient(&redis.ClusterOptions' : 'NewClient(&redis.Options';
  return [`import "github.com/redis/go-redis/v9"`, `db := redis.${made}{${options}})`].join('\n');
}

export const CLIENTS: readonly Client[] = [
  { id: 'valkey-cli', label: 'valkey-cli', lines: cli },
  { id: 'redis-py', label: 'redis-py', lines: python },
  { id: 'ioredis', label: 'ioredis', lines: ioredis },
  { id: 'node-redis', label: 'node-redis', lines: nodeRedis },
  { id: 'go', label: 'Go', lines: go },
];
