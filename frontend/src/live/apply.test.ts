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

  it('asks again when a reply is on its way, since it may be older than the change', async () => {
    const client = new QueryClient();
    const replies = [[bdb(1, 'stale')], [bdb(1, 'fresh')]];
    let asked = 0;
    const queryFn = async () => {
      asked += 1;
      return replies.shift() ?? [];
    };
    const first = client.fetchQuery({ queryKey: ['bdbs'], queryFn });
    await first;
    const second = client.fetchQuery({ queryKey: ['bdbs'], queryFn, staleTime: 0 });
    applyChanges(client, [{ kind: 'bdb', uid: 1, object: bdb(1, 'changed') }]);
    expect(client.getQueryState(['bdbs'])?.isInvalidated).toBe(true);
    await second.catch(() => undefined);
    expect(asked).toBe(2);
  });

  it('ignores kinds it does not show', () => {
    const client = new QueryClient();
    expect(() => applyChanges(client, [{ kind: 'cluster', uid: 1, object: {} }])).not.toThrow();
  });
});
