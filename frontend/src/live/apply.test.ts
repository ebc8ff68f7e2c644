import { QueryClient } from '@tanstack/react-query';
import { describe, expect, it } from 'vitest';
import type { Bdb } from '@/api/types';
import { applyChanges } from './apply';

const bdb = (uid: number, name: string) => ({ uid, name }) as Bdb;

describe('applyChanges', () => {
  it('folds into lists that were loaded and leaves the others to be loaded', () => {
    const client = new QueryClient();
    client.setQueryData(['bdbs'], [bdb(1, 'one')]);
    applyChanges(client, [
      { kind: 'bdb', uid: 2, object: bdb(2, 'two') },
      { kind: 'node', uid: 1, object: { uid: 1 } },
    ]);
    expect(client.getQueryData<Bdb[]>(['bdbs'])?.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(client.getQueryData(['nodes'])).toBeUndefined();
  });

  it('folds what came while a reply was on its way over that reply, and asks once', async () => {
    const client = new QueryClient();
    client.setQueryData(['bdbs'], [bdb(1, 'old')]);
    let reply: (list: Bdb[]) => void = () => undefined;
    let asked = 0;
    const queryFn = () => {
      asked += 1;
      return new Promise<Bdb[]>((resolve) => {
        reply = resolve;
      });
    };
    const fetched = client.fetchQuery({ queryKey: ['bdbs'], queryFn });
    for (const name of ['changed', 'changed again']) {
      applyChanges(client, [{ kind: 'bdb', uid: 1, object: bdb(1, name) }]);
    }
    applyChanges(client, [{ kind: 'bdb', uid: 2, object: null }]);
    expect(client.getQueryData<Bdb[]>(['bdbs'])?.[0]?.name).toBe('changed again');
    reply([bdb(1, 'stale'), bdb(2, 'deleted meanwhile')]);
    await fetched;
    expect(client.getQueryData<Bdb[]>(['bdbs'])).toEqual([bdb(1, 'changed again')]);
    expect(asked).toBe(1);
  });

  it('ignores kinds it does not show', () => {
    const client = new QueryClient();
    expect(() => applyChanges(client, [{ kind: 'cluster', uid: 1, object: {} }])).not.toThrow();
  });
});
