// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { BackupLocation, Bdb } from '@/api/types';
import { ScheduleDialog } from './ScheduleDialog';
import { backupFields } from './scheduleForm';

const LOCATIONS = [{ uid: 3, name: 'vault', is_encrypted: false }] as BackupLocation[];
const OFF = backupFields({} as Bdb);
const database = (part: object = {}): Bdb =>
  ({ ...OFF, uid: 1, name: 'shop', backup: true, backup_location_uid: 3, ...part }) as Bdb;

const answered = vi.fn();
const closed = vi.fn();

beforeEach(() => {
  vi.stubGlobal('fetch', answered);
  answered.mockImplementation(async () => Response.json(database()));
});
afterEach(() => {
  answered.mockReset();
  closed.mockReset();
  vi.unstubAllGlobals();
});

const show = (bdb: Bdb) =>
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient()}>
        <ScheduleDialog bdb={bdb} locations={LOCATIONS} onClose={closed} />
      </QueryClientProvider>
    </MantineProvider>,
  );
const recording = () => screen.getByLabelText<HTMLInputElement>(/^Record changes/);

describe('the schedule dialog', () => {
  it('turns on the recording of changes', async () => {
    show(database());
    expect(screen.queryByLabelText(/^Store changes every/)).toBeNull();
    fireEvent.click(recording());
    fireEvent.change(screen.getByLabelText(/^Store changes every/), { target: { value: '10' } });
    fireEvent.click(screen.getByRole('button', { name: 'Save' }));
    await waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
    expect(JSON.parse(answered.mock.calls[0]?.[1].body)).toEqual({
      backup_schedule: { ...OFF.backup_schedule, record_changes: true, record_segment_seconds: 10 },
    });
  });

  it('does not offer it for databases on flash', () => {
    show(database({ bigstore: true }));
    expect(recording().disabled).toBe(true);
    screen.getByText('Not available for databases on flash.');
  });
});
