// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { ApiError, OfflineError } from '@/api/http';
import { LoadErrors } from './LoadErrors';

type Ask = () => Promise<string>;

function Page({ queryFn }: { queryFn: Ask }) {
  return <p>{useQuery({ queryKey: ['nodes'], queryFn }).data ?? 'nothing yet'}</p>;
}

function page(queryFn: Ask) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <LoadErrors />
        <Page queryFn={queryFn} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return client;
}

describe('LoadErrors', () => {
  it('shows what could not be loaded until a retry succeeds', async () => {
    const replies = [new OfflineError(), 'three nodes'];
    page(async () => {
      const reply = replies.shift();
      if (reply instanceof Error) throw reply;
      return reply ?? '';
    });
    expect(await screen.findByText(/Could not load nodes\. The console does not/)).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Try again' }));
    expect(await screen.findByText('three nodes')).toBeTruthy();
    await waitFor(() => expect(screen.queryByText(/Could not load/)).toBeNull());
  });

  it('keeps earlier data', async () => {
    const replies: (string | Error)[] = ['three nodes', new OfflineError()];
    const client = page(async () => {
      const reply = replies.shift();
      if (reply instanceof Error) throw reply;
      return reply ?? '';
    });
    expect(await screen.findByText('three nodes')).toBeTruthy();
    void client.invalidateQueries({ queryKey: ['nodes'] });
    expect(await screen.findByText(/Could not load nodes/)).toBeTruthy();
    expect(screen.getByText('three nodes')).toBeTruthy();
  });

  it('shows refused requests', async () => {
    page(async () => {
      throw new ApiError(429, 'busy', 'Too many requests.');
    });
    expect(await screen.findByText(/Could not load nodes\. Too many requests/)).toBeTruthy();
  });

  it('ignores requests that the role does not allow', async () => {
    const client = page(async () => {
      throw new ApiError(403, 'forbidden', 'Not for you.');
    });
    await waitFor(() => expect(client.getQueryState(['nodes'])?.status).toBe('error'));
    expect(screen.queryByText(/Could not load/)).toBeNull();
  });
});
