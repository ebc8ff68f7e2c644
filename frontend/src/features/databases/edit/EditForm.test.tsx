// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Bdb } from '@/api/types';
import { EditForm, hasStoredEdit } from './EditForm';

vi.mock('@tanstack/react-router', () => ({ useBlocker: () => ({ status: 'idle' }) }));

const bdb = (part: Partial<Bdb> = {}) =>
  ({
    uid: 1,
    name: 'orders',
    memory_size: 1 << 30,
    eviction_policy: 'volatile-lru',
    sharding: true,
    shards_count: 3,
    shards_total: 6,
    replication: true,
    shards_placement: 'dense',
    tags: [],
    ...part,
  }) as Bdb;

const BDBS = [bdb(), bdb({ uid: 2, name: 'carts' })];

let sent: unknown[];
let paths: string[];

beforeEach(() => {
  sent = [];
  paths = [];
  sessionStorage.clear();
  vi.stubGlobal('fetch', async (path: string, { method, body }: RequestInit) => {
    if (method === 'PUT' && !path.includes('dry_run')) {
      sent.push(JSON.parse(String(body)));
      paths.push(path);
    }
    const lists: Record<string, unknown> = { '/v1/shards': [], '/v1/bdbs': BDBS };
    return new Response(JSON.stringify(lists[path] ?? bdb()));
  });
});

function open() {
  const onClose = vi.fn();
  const client = new QueryClient();
  const form = (object: Bdb) => (
    <MantineProvider>
      <QueryClientProvider client={client}>
        <EditForm bdb={object} onClose={onClose} />
      </QueryClientProvider>
    </MantineProvider>
  );
  const { rerender, unmount } = render(form(bdb()));
  return { onClose, unmount, change: (object: Bdb) => rerender(form(object)) };
}

const save = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Save' });
const field = (name: string) => screen.getByLabelText<HTMLInputElement>(name);

describe('EditForm', () => {
  it('does not overwrite fields that another user changed during the edit', async () => {
    const { change, onClose } = open();
    fireEvent.change(field('Name'), { target: { value: 'sales' } });
    change(bdb({ shards_count: 5 }));
    expect(field('Number of shards').value).toBe('5');
    fireEvent.click(save());
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent).toEqual([{ name: 'sales' }]);
    expect(hasStoredEdit(1)).toBe(false);
  });

  it('shows conflicts and blocks saving until the user resolves them', async () => {
    const { change } = open();
    fireEvent.change(field('Name'), { target: { value: 'sales' } });
    change(bdb({ name: 'shop' }));
    expect(screen.getByRole('alert').textContent).toContain(
      'Name: changed from orders to shop; your value is sales.',
    );
    expect(save().disabled).toBe(true);
    fireEvent.click(screen.getByRole('button', { name: 'Keep the current values' }));
    expect(field('Name').value).toBe('shop');
  });

  it('renames to the name of another database only after a confirmation', async () => {
    const { onClose } = open();
    fireEvent.change(field('Name'), { target: { value: 'carts' } });
    const confirm = await screen.findByLabelText('Use this name anyway');
    expect(screen.getByText('Another database has this name.')).toBeDefined();
    expect(save().disabled).toBe(true);
    fireEvent.click(confirm);
    expect(save().disabled).toBe(false);
    fireEvent.click(save());
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent).toEqual([{ name: 'carts' }]);
    expect(paths).toEqual(['/v1/bdbs/1?allow_duplicate_name=true']);
  });

  it('keeps unsaved input when the session expires', () => {
    const { unmount } = open();
    fireEvent.change(field('Name'), { target: { value: 'sales' } });
    unmount();
    expect(hasStoredEdit(1)).toBe(true);
    open();
    expect(field('Name').value).toBe('sales');
  });
});
