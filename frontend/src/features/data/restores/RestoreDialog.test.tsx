// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { backupsQuery } from '@/api/data/backups';
import { restoresQuery, restoreWindowsQuery } from '@/api/data/restores';
import { bdbsQuery } from '@/api/databases/bdbs';
import type { Backup, Bdb, RestoreWindow } from '@/api/types';
import { setZone } from '@/lib/time';
import { RestoreDialog } from './RestoreDialog';
import { RestoreWindows } from './RestoreWindows';

const WINDOWS: RestoreWindow[] = [
  { from: '2026-11-30T10:00:00Z', to: '2026-11-30T11:00:00Z', backup_uid: 3, bdb_uid: 1 },
  { from: '2026-11-30T11:00:00Z', to: '2026-11-30T12:30:05Z', backup_uid: 4, bdb_uid: 1 },
];
const BACKUP = {
  uid: 4,
  bdb_uid: 1,
  bdb_name: 'shop',
  kind: 'backup',
  status: 'succeeded',
  created_at: '2026-11-30T11:00:00Z',
  keys: 7,
  bytes: 100,
  is_encrypted: false,
} as Backup;

const answered = vi.fn();
const closed = vi.fn();
let client: QueryClient;

beforeEach(() => {
  setZone('utc');
  client = new QueryClient({
    defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } },
  });
  client.setQueryData(backupsQuery.queryKey, [BACKUP]);
  client.setQueryData(restoresQuery.queryKey, []);
  client.setQueryData(bdbsQuery.queryKey, [
    { uid: 1, name: 'shop' },
    { uid: 2, name: 'copy' },
  ] as Bdb[]);
  client.setQueryData(restoreWindowsQuery(1).queryKey, WINDOWS);
  vi.stubGlobal('fetch', answered);
  answered.mockImplementation(async () => Response.json({ action_uid: 'a', restore_uid: 1 }));
});
afterEach(() => {
  setZone('local');
  answered.mockReset();
  closed.mockReset();
  vi.unstubAllGlobals();
});

const show = (content: ReactNode) =>
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>{content}</QueryClientProvider>
    </MantineProvider>,
  );
const enter = (label: RegExp, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
const button = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Erase and restore' });

describe('the restore dialog', () => {
  it('restores another database to a point in time', async () => {
    show(<RestoreDialog target={1} onClose={closed} />);
    fireEvent.click(screen.getByLabelText('Point in time'));
    expect(screen.queryByLabelText(/^Merge/)).toBeNull();
    expect(screen.getByLabelText<HTMLInputElement>(/^Point in time \(UTC\)/).value).toContain(
      '2026-11-30T12:30:05',
    );
    enter(/^Point in time \(UTC\)/, '2026-11-30T11:59:59');
    enter(/^Into database/, '2');
    screen.getByText(/^All keys of copy are deleted. Then the keys of the selected time/);
    expect(button().disabled).toBe(true);
    enter(/^Type copy/, 'copy');
    fireEvent.click(button());
    await waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
    const [path, { method, body }] = answered.mock.calls[0] ?? [];
    expect([method, path, JSON.parse(body)]).toEqual([
      'POST',
      '/v1/bdbs/2/actions/restore',
      { until: '2026-11-30T11:59:59.000Z', source_bdb_uid: 1, mode: 'replace' },
    ]);
  });

  it('names the nearest time if one was not recorded', () => {
    show(<RestoreDialog target={1} onClose={closed} />);
    fireEvent.click(screen.getByLabelText('Point in time'));
    enter(/^Type shop/, 'shop');
    expect(button().disabled).toBe(false);
    enter(/^Point in time \(UTC\)/, '2026-11-30T13:00:00');
    screen.getByText('Not recorded. Nearest: 2026-11-30 12:30:05 UTC');
    expect(button().disabled).toBe(true);
  });

  it('starts with a chosen point in time', () => {
    const until = Date.parse('2026-11-30T11:59:59Z');
    show(<RestoreDialog target={1} until={until} onClose={closed} />);
    screen.getByText('Restore to a point in time');
    const field = screen.getByLabelText<HTMLInputElement>(/^Point in time \(UTC\)/);
    expect(field.value).toContain('2026-11-30T11:59:59');
  });

  it('restores points in time of a deleted database into another one', () => {
    client.setQueryData(bdbsQuery.queryKey, [{ uid: 2, name: 'copy' }] as Bdb[]);
    show(<RestoreDialog target={1} until={Date.parse('2026-11-30T12:00:00Z')} onClose={closed} />);
    expect(screen.getByLabelText<HTMLSelectElement>(/^Into database/).value).toBe('1');
    screen.getByText('Choose a database');
    expect(screen.queryByLabelText(/^Type copy/)).toBeNull();
    enter(/^Into database/, '2');
    screen.getByLabelText(/^Type copy/);
  });

  it('offers only backups if changes were not recorded', () => {
    client.setQueryData(restoreWindowsQuery(1).queryKey, []);
    show(<RestoreDialog target={1} onClose={closed} />);
    expect(screen.queryByLabelText('Point in time')).toBeNull();
    screen.getByLabelText('Backup');
  });
});

describe('the points in time of a database', () => {
  it('are shown as periods, and as windows of backups', () => {
    const restored = vi.fn();
    show(<RestoreWindows bdb={1} denied={undefined} onRestore={restored} />);
    screen.getByText('Any second from 2026-11-30 10:00:00 UTC to 2026-11-30 12:30:05 UTC');
    const rows = screen.getAllByRole('row').map((row) => row.textContent);
    expect(rows[1]).toContain('42026-11-30 11:00:00 UTC2026-11-30 12:30:05 UTC');
    fireEvent.click(screen.getByRole('button', { name: 'Restore to a time…' }));
    expect(restored).toHaveBeenCalledWith(Date.parse('2026-11-30T12:30:05Z'));
  });

  it('are hidden if there are none', () => {
    client.setQueryData(restoreWindowsQuery(1).queryKey, []);
    show(<RestoreWindows bdb={1} denied={undefined} onRestore={vi.fn()} />);
    expect(screen.queryByText('Points in time')).toBeNull();
  });
});
