import { describe, expect, it } from 'vitest';
import type { Bdb, Shard } from '@/api/types';
import { type ActionInput, actionEntries } from './actions';

const DEMO = { uid: 1, name: 'demo', status: 'active' } as Bdb;
const shard = (uid: string, role: string, part: object = {}) =>
  ({ uid, bdb_uid: 1, pair: 1, role, node_uid: '1', detailed_status: 'ok', ...part }) as Shard;
const PAIR = [shard('3', 'master'), shard('9', 'slave')];

const ids = (part: Partial<ActionInput> = {}) =>
  actionEntries({ bdbs: [DEMO], shards: PAIR, hasNodes: true, may: () => true, ...part }).map(
    ({ id }) => id,
  );

describe('actionEntries', () => {
  it('offers the actions of databases and shards', () => {
    expect(ids()).toEqual(
      expect.arrayContaining(['create', 'add-node', 'stop-1', 'backup-1', 'switch-over-3']),
    );
  });

  it('offers only actions that the role allows', () => {
    expect(ids({ may: () => false }).every((id) => /^(theme|zone)-/.test(id))).toBe(true);
    const editor = ids({ may: (permission) => permission === 'edit' });
    expect(editor).toContain('stop-1');
    expect(editor).not.toContain('add-node');
    expect(editor).not.toContain('create');
  });

  it('offers only actions that the state allows', () => {
    const stopped = ids({ bdbs: [{ ...DEMO, traffic_manually_disabled: true }] });
    expect(stopped).toContain('resume-1');
    expect(stopped).not.toContain('stop-1');
    const pending = ids({ bdbs: [{ ...DEMO, status: 'pending' }] });
    expect(pending).not.toContain('stop-1');
    expect(pending).not.toContain('switch-over-3');
    const down = [shard('3', 'master'), shard('9', 'slave', { detailed_status: 'down' })];
    expect(ids({ shards: down })).not.toContain('switch-over-3');
    expect(ids({ hasNodes: false })).not.toContain('create');
    expect(ids({ bdbs: [{ ...DEMO, internal: true }] })).not.toContain('delete-1');
  });

  it('opens a dialog for destructive actions', () => {
    const all = actionEntries({ bdbs: [DEMO], shards: PAIR, hasNodes: true, may: () => true });
    for (const id of ['stop-1', 'flush-1', 'delete-1', 'switch-over-3'])
      expect(all.find((entry) => entry.id === id)?.target).toHaveProperty('dialog');
  });
});
