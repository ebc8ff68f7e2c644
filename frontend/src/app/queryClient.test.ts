import { MutationObserver, onlineManager } from '@tanstack/react-query';
import { afterEach, describe, expect, it } from 'vitest';
import { ApiError } from '@/api/http';
import { createQueryClient } from './queryClient';

describe('the page', () => {
  afterEach(() => onlineManager.setOnline(true));

  it('asks and orders also while the browser believes that there is no network', async () => {
    onlineManager.setOnline(false);
    const client = createQueryClient();
    const asked = client.fetchQuery({ queryKey: ['nodes'], queryFn: async () => 'three nodes' });
    expect(await asked).toBe('three nodes');
    const order = new MutationObserver(client, { mutationFn: async () => 'ordered' });
    expect(await order.mutate()).toBe('ordered');
  });

  it('does not ask again for what was refused', async () => {
    let asked = 0;
    const queryFn = async () => {
      asked += 1;
      throw new ApiError(404, 'not_found', 'It is not there.');
    };
    const client = createQueryClient();
    // As a component would: what is fetched by hand is never asked for again.
    const { retry } = client.defaultQueryOptions({ queryKey: ['x'] });
    await expect(client.fetchQuery({ queryKey: ['x'], queryFn, retry })).rejects.toThrow();
    expect(asked).toBe(1);
  });
});
