import { describe, expect, it } from 'vitest';
import type { Backup, BackupFile } from '@/api/types';
import {
  backupStatus,
  compressionText,
  deleteDeniedReason,
  durationText,
  fileStatus,
  filterBackups,
  isRestorable,
  keptText,
  newestFirst,
  STATUS_CHOICES,
  sizeText,
  triggerText,
  verification,
} from './backupText';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

describe('the status of a backup', () => {
  it('contains the progress while the backup is running, rounded down', () => {
    expect(backupStatus({ status: 'running', progress: 99.9 })).toEqual({
      tone: 'progress',
      text: 'Running, 99%',
    });
  });

  it('has no progress afterwards', () => {
    expect(backupStatus({ status: 'failed', progress: 100 })).toEqual({
      tone: 'broken',
      text: 'Failed',
    });
  });

  it('is shown as sent if a newer console sends another one', () => {
    const unknown = { status: 'paused', progress: 0 };
    expect(backupStatus(unknown as unknown as Backup)).toEqual({ tone: 'unknown', text: 'paused' });
    expect(fileStatus(unknown as unknown as BackupFile).text).toBe('paused');
  });

  it('decides what can be done', () => {
    const allowed = STATUS_CHOICES.map(({ value: status }) => [
      status,
      isRestorable({ status }),
      deleteDeniedReason({ status }) === undefined,
    ]);
    expect(allowed).toEqual([
      ['running', false, false],
      ['succeeded', true, true],
      ['failed', false, true],
      ['cancelled', false, true],
      ['deleting', false, false],
    ]);
  });
});

describe('the status of a file', () => {
  it.each([
    ['running', 42.7, 'Running, about 42%'],
    ['running', 0, 'Running'],
    ['succeeded', 100, 'Complete'],
    ['waiting', 0, 'Waiting'],
  ] as const)('%s, %d%% is %s', (status, progress, text) => {
    expect(fileStatus({ status, progress, is_estimate: status === 'running' }).text).toBe(text);
  });
});

describe('figures of a backup', () => {
  it('are the stored and the uncompressed size', () => {
    expect(plain(sizeText({ bytes: 2 ** 20, raw_bytes: 4 * 2 ** 20 }))).toBe('1 MiB / 4 MiB');
    expect(compressionText({ bytes: 2 ** 20, raw_bytes: 4 * 2 ** 20 })).toBe('4.0×');
  });

  it('are unknown before anything is written', () => {
    expect(sizeText({ bytes: 0, raw_bytes: 0 })).toBe('–');
    expect(compressionText({ bytes: 0, raw_bytes: 0 })).toBeUndefined();
  });

  it('include the duration up to now while it is running', () => {
    const times = { created_at: '2026-01-01T00:00:00Z', finished_at: null };
    expect(plain(durationText(times, Date.parse('2026-01-01T00:01:05Z')))).toBe('1 min 5 s');
    const ended = { ...times, finished_at: '2026-01-01T00:00:04.2Z' };
    expect(plain(durationText(ended, Date.parse('2026-01-01T00:01:05Z')))).toBe('4.2 s');
  });
});

it('the trigger of an export is the call, not the user', () => {
  expect(triggerText({ kind: 'export', trigger: 'manual' })).toBe('Export');
  expect(triggerText({ kind: 'backup', trigger: 'schedule' })).toBe('Schedule');
});

describe('the verification', () => {
  const verified = {
    at: '2026-01-01T00:00:00Z',
    ok: true,
    detail: '',
    seconds: 41,
    keys: 2100,
    method: 'restore',
  } as const;

  it('is null for backups that have not been verified', () => {
    expect(verification({ verified: null })).toBeNull();
  });

  it('is not called the same if only checksums were compared', () => {
    const compared = { ...verified, method: 'checksums', detail: '3 files match.' } as const;
    expect(verification({ verified: compared })).toEqual({
      tone: 'ok',
      text: 'Checksums verified',
      title: '3 files match.',
    });
  });

  it('names keys and duration of the test', () => {
    expect(plain(verification({ verified })?.title ?? '')).toBe(
      'Restored 2,100 keys into a temporary database in 41 s.',
    );
  });

  it('shows the reason of a failed test', () => {
    const failed = { ...verified, ok: false, detail: 'Slot 7 differs' };
    expect(verification({ verified: failed })).toEqual({
      tone: 'broken',
      text: 'Failed',
      title: 'Slot 7 differs',
    });
  });
});

it('backups are filtered by database and status', () => {
  const backups = [
    { uid: 1, bdb_uid: 1, status: 'succeeded' },
    { uid: 2, bdb_uid: 2, status: 'succeeded' },
    { uid: 3, bdb_uid: 2, status: 'failed' },
  ] as Backup[];
  const uids = (filter: object) => filterBackups(backups, filter)?.map(({ uid }) => uid);
  expect(uids({})).toEqual([1, 2, 3]);
  expect(uids({ bdb: 2 })).toEqual([2, 3]);
  expect(uids({ bdb: 2, status: 'failed' })).toEqual([3]);
  expect(filterBackups(undefined, {})).toBeUndefined();
});

it('the reasons why a backup is kept are listed', () => {
  expect(keptText({ kept_because: '' })).toBeUndefined();
  expect(keptText({ kept_because: 'daily, weekly' })).toBe('newest of its day, newest of its week');
  expect(keptText({ kept_because: 'legal_hold' })).toBe('legal_hold');
});

it('the newest backup is first', () => {
  const at = (uid: number, created_at: string) => ({ uid, created_at }) as Backup;
  const backups = [
    at(1, '2026-01-02T00:00:00Z'),
    at(2, '2026-01-03T00:00:00Z'),
    at(3, '2026-01-01T00:00:00Z'),
  ];
  expect(newestFirst(backups).map(({ uid }) => uid)).toEqual([2, 1, 3]);
});
