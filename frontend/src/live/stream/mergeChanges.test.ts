import { describe, expect, it } from 'vitest';
import type { Action, Backup, Bdb, LogEvent } from '@/api/types';
import { MERGE_RULES, mergeChanges } from './mergeChanges';

const bdb = (uid: number, name: string, at = '2026-01-01T00:00:00Z') =>
  ({ uid, name, last_changed_time: at }) as Bdb;
const entry = (object: Bdb) => ({ id: String(object.uid), object });
const merge = (list: Bdb[], ...objects: Bdb[]) =>
  mergeChanges(list, objects.map(entry), MERGE_RULES.bdb);

describe('mergeChanges', () => {
  const list = [bdb(1, 'one'), bdb(2, 'two')];

  it('adds, replaces and removes', () => {
    expect(merge(list, bdb(3, 'three')).map(({ name }) => name)).toEqual(['one', 'two', 'three']);
    expect(merge(list, bdb(1, 'uno')).map(({ name }) => name)).toEqual(['uno', 'two']);
    const removed = mergeChanges(list, [{ id: '1', object: null }], MERGE_RULES.bdb);
    expect(removed).toEqual([list[1]]);
  });

  it('keeps the identity of unchanged elements', () => {
    expect(merge(list, bdb(1, 'one'))).toBe(list);
    expect(merge(list, bdb(1, 'uno'))[1]).toBe(list[1]);
    expect(mergeChanges(list, [{ id: '9', object: null }], MERGE_RULES.bdb)).toBe(list);
  });

  it('never replaces a newer object by an older one', () => {
    const known = [bdb(1, 'new', '2026-01-01T00:00:05Z')];
    expect(merge(known, bdb(1, 'old', '2026-01-01T00:00:01Z'))).toBe(known);
    const merged = merge(
      [],
      bdb(1, 'new', '2026-01-01T00:00:05Z'),
      bdb(1, 'old', '2026-01-01T00:00:01Z'),
    );
    expect(merged.map(({ name }) => name)).toEqual(['new']);
  });

  it('applies the last of several changes of one object, including a removal', () => {
    expect(merge([], bdb(1, 'a'), bdb(1, 'b')).map(({ name }) => name)).toEqual(['b']);
    const merged = mergeChanges(
      [],
      [entry(bdb(1, 'a')), { id: '1', object: null }],
      MERGE_RULES.bdb,
    );
    expect(merged).toEqual([]);
  });

  it('never changes a finished action back to running', () => {
    const done = { action_uid: 'x', status: 'completed', progress: 100 } as Action;
    const late = { ...done, status: 'running', progress: 50 } as Action;
    const known = [done];
    expect(mergeChanges(known, [{ id: 'x', object: late }], MERGE_RULES.action)).toBe(known);
  });

  it('never changes a finished backup back to running', () => {
    const done = { uid: 1, finished_at: '2026-01-01T00:00:00Z', keys: 5 } as Backup;
    const late = { ...done, finished_at: null };
    const known = [done];
    expect(mergeChanges(known, [{ id: '1', object: late }], MERGE_RULES.backup)).toBe(known);
    const deleting = { ...done, status: 'deleting' } as Backup;
    expect(mergeChanges(known, [{ id: '1', object: deleting }], MERGE_RULES.backup)).toEqual([
      deleting,
    ]);
  });

  it('prepends new events, newest first', () => {
    const event = (uid: number) => ({ uid }) as LogEvent;
    const entries = [3, 4].map((uid) => ({ id: String(uid), object: event(uid) }));
    const merged = mergeChanges([event(2), event(1)], entries, MERGE_RULES.event, 'prepend');
    expect(merged.map(({ uid }) => uid)).toEqual([4, 3, 2, 1]);
  });
});
