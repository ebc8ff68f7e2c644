/** Helpers that manage objects with the REST API, for tests with a different subject. */
import { type APIRequestContext, expect, request } from '@playwright/test';
import { stack, stackInfo } from './stack.ts';

/** Highest uid of built-in roles and access lists. */
const BUILT_IN = 16;

export interface Bdb {
  uid: number;
  name: string;
  status: string;
  status_detail: string;
  shards_count: number;
  memory_size: number;
  shards_in_sync: number;
  shards_total: number;
  endpoints: { addr: string[]; port: number }[];
}

export interface Shard {
  uid: string;
  bdb_uid: number;
  node_uid: string;
  role: string;
}

export async function bdbNamed(api: APIRequestContext, name: string): Promise<Bdb> {
  const list = (await (await api.get('/v1/bdbs')).json()) as Bdb[];
  const found = list.find((bdb) => bdb.name === name);
  if (!found) throw new Error(`database ${name} does not exist`);
  return found;
}

export async function shardsOf(api: APIRequestContext, bdb: number): Promise<Shard[]> {
  const list = (await (await api.get('/v1/shards')).json()) as Shard[];
  return list.filter((shard) => shard.bdb_uid === bdb);
}

/** Create a database with one shard and wait until it is active. */
export async function createSmall(
  api: APIRequestContext,
  name: string,
  settings: object = {},
): Promise<Bdb> {
  const data = { name, memory_size: 100_000_000, ...settings };
  const reply = await api.post('/v1/bdbs', { data });
  expect(reply.status(), await reply.text()).toBe(200);
  await expect.poll(async () => (await bdbNamed(api, name)).status).toBe('active');
  return bdbNamed(api, name);
}

/** Delete all keys of a database. */
export async function flush(api: APIRequestContext, uid: number): Promise<void> {
  // Refused while another change runs.
  const flushed = async () => (await api.put(`/v1/bdbs/${uid}/flush`, { data: {} })).status();
  await expect.poll(flushed).toBe(200);
  const status = async () => (await (await api.get(`/v1/bdbs/${uid}`)).json()).status;
  await expect.poll(status).toBe('active');
}

export async function remove(api: APIRequestContext, uid: number): Promise<void> {
  await api.delete(`/v1/bdbs/${uid}`);
  await expect.poll(async () => (await api.get(`/v1/bdbs/${uid}`)).status()).toBe(404);
}

/** Remove everything that tests create: scenario runs, benchmarks, backups and their locations, databases except `keptUid`, webhooks, service tokens, users except the first administrator, custom roles and access lists. */
export async function cleanUpCluster(api: APIRequestContext, keptUid: number): Promise<void> {
  const uids = async (path: string) =>
    ((await (await api.get(path)).json()) as { uid: number }[]).map(({ uid }) => uid);
  for (const path of ['/v1/scenario_runs', '/v1/benchmarks']) {
    for (const uid of await uids(path)) {
      await api.post(`${path}/${uid}/stop`); // refused if the run has ended
      const deleted = async () => (await api.delete(`${path}/${uid}`)).status();
      // 404: the test may have deleted it.
      await expect.poll(async () => [200, 404].includes(await deleted())).toBe(true);
    }
  }
  await removeBackups(api);
  for (const uid of await uids('/v1/bdbs')) {
    if (uid === keptUid) continue;
    await stack.stopTraffic(uid);
    await remove(api, uid);
  }
  await api.delete('/v1/cluster/oidc');
  await api.delete('/v1/cluster/ldap');
  for (const uid of await uids('/v1/ldap_mappings')) await api.delete(`/v1/ldap_mappings/${uid}`);
  for (const uid of await uids('/v1/webhooks')) await api.delete(`/v1/webhooks/${uid}`);
  for (const uid of await uids('/v1/service_tokens')) await api.delete(`/v1/service_tokens/${uid}`);
  for (const uid of await uids('/v1/users')) if (uid > 1) await api.delete(`/v1/users/${uid}`);
  await clearPermissions(api, keptUid);
  for (const kind of ['roles', 'redis_acls']) {
    for (const uid of await uids(`/v1/${kind}`)) {
      if (uid > BUILT_IN) await api.delete(`/v1/${kind}/${uid}`);
    }
  }
}

/** Delete all backups, uploads and locations. Requires that the locations respond. */
export async function removeBackups(api: APIRequestContext): Promise<void> {
  const list = async () =>
    (await (await api.get('/v1/backups')).json()) as {
      uid: number;
      status: string;
      action_uid: string;
    }[];
  for (const { uid, status, action_uid } of await list()) {
    if (status === 'running') await api.delete(`/v1/actions/${action_uid}`);
    // Refused while the backup is being cancelled.
    const deleted = async () => (await api.delete(`/v1/backups/${uid}`)).status();
    await expect.poll(async () => [200, 404].includes(await deleted())).toBe(true);
  }
  await expect.poll(async () => (await list()).length).toBe(0);
  await removeUploads(api);
  await removeConsoleBackups(api);
  const locations = (await (await api.get('/v1/backup_locations')).json()) as { uid: number }[];
  for (const { uid } of locations) await api.delete(`/v1/backup_locations/${uid}`);
}

async function removeUploads(api: APIRequestContext): Promise<void> {
  for (const { uid: bdb } of (await (await api.get('/v1/bdbs')).json()) as Bdb[]) {
    const path = `/v1/bdbs/${bdb}/uploads`;
    const list = async () => (await (await api.get(path)).json()) as { uid: number }[];
    for (const { uid } of await list()) {
      // Refused while it is being uploaded or imported.
      const deleted = async () => (await api.delete(`${path}/${uid}`)).status();
      await expect.poll(async () => [200, 404].includes(await deleted())).toBe(true);
    }
    await expect.poll(async () => (await list()).length).toBe(0);
  }
}

async function removeConsoleBackups(api: APIRequestContext): Promise<void> {
  await api.delete('/v1/console_backups/schedule');
  const list = async () =>
    (await (await api.get('/v1/console_backups')).json()) as { uid: number }[];
  for (const { uid } of await list()) {
    // Refused while it is running.
    const deleted = async () => (await api.delete(`/v1/console_backups/${uid}`)).status();
    await expect.poll(async () => [200, 404].includes(await deleted())).toBe(true);
  }
  await expect.poll(async () => (await list()).length).toBe(0);
}

async function clearPermissions(api: APIRequestContext, uid: number): Promise<void> {
  const bdb = async () => (await api.get(`/v1/bdbs/${uid}`)).json();
  const isActive = async () => (await bdb()).status === 'active';
  if ((await bdb()).roles_permissions.length) {
    await expect.poll(isActive).toBe(true);
    await api.put(`/v1/bdbs/${uid}`, { data: { roles_permissions: [] } });
    await expect.poll(isActive).toBe(true);
  }
}

/** Set whether the cluster policy allows drills. */
export async function allowDrills(allowed: boolean): Promise<void> {
  const { url, user, password } = stackInfo();
  const login = Buffer.from(`${user}:${password}`).toString('base64');
  const api = await request.newContext({ extraHTTPHeaders: { Authorization: `Basic ${login}` } });
  const reply = await api.put(`${url}/v1/cluster/policy`, { data: { drills_enabled: allowed } });
  expect(reply.status(), await reply.text()).toBe(200);
  await api.dispose();
}
