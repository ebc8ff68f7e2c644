import { MutationObserver, onlineManager } from '@tanstack/react-query';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiError } from '@/api/http';
import { createQueryClient } from './queryClient';

describe('createQueryClient', () => {
  afterEach(() => onlineManager.setOnline(true));

  it('sends queries and mutations while the browser reports no network', async () => {
    onlineManager.setOnline(false);
    const client = createQueryClient();
    const fetched = client.fetchQuery({ queryKey: ['nodes'], queryFn: async () => 'three nodes' });
    expect(await fetched).toBe('three nodes');
    const mutation = new MutationObserver(client, { mutationFn: async () => 'started' });
    expect(await mutation.mutate()).toBe('started');
  });

  it('does not retry refused requests', async () => {
    let fetched = 0;
    const queryFn = async () => {
      fetched += 1;
      throw new ApiError(404, 'not_found', 'It is not there.');
    };
    const client = createQueryClient();
    // Use the retry setting of a component, because `fetchQuery` does not retry by default.
    const { retry } = client.defaultQueryOptions({ queryKey: ['x'] });
    await expect(client.fetchQuery({ queryKey: ['x'], queryFn, retry })).rejects.toThrow();
    expect(fetched).toBe(1);
  });
});
