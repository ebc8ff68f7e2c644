import { expect, it } from 'vitest';
import type { Backup } from '@/api/types';
import { recoveryPoints } from './recoveryPoints';

const backup = (uid: number, bdb_uid: number, hour: number, status = 'succeeded') =>
  ({
    uid,
    bdb_uid,
    bdb_name: `name ${bdb_uid}`,
    status,
    bytes: 10,
    created_at: `2026-01-01T${String(hour).padStart(2, '0')}:00:00Z`,
  }) as Backup;
const DEMO = { uid: 1, name: 'demo' };

it('the newest and the oldest restore point are those of successful backups', () => {
  const backups = [
    backup(1, 1, 1, 'failed'),
    backup(2, 1, 4),
    backup(3, 1, 2),
    backup(4, 1, 3),
    backup(5, 1, 5, 'running'),
  ];
  const [row] = recoveryPoints(backups, [DEMO], []);
  expect(row).toMatchObject({ name: 'demo', exists: true, count: 3, bytes: 30 });
  expect(row?.newest).toBe(Date.parse('2026-01-01T04:00:00Z'));
  expect(row?.oldest).toBe(Date.parse('2026-01-01T02:00:00Z'));
});

it('the end of the recorded changes is the newest restore point', () => {
  const window = (from: number, to: number, bdb_uid: number) => ({
    bdb_uid,
    backup_uid: 1,
    from: `2026-01-01T0${from}:00:00Z`,
    to: `2026-01-01T0${to}:00:00Z`,
  });
  const windows = [window(2, 3, 1), window(5, 6, 1), window(7, 8, 9)];
  const [row] = recoveryPoints([backup(1, 1, 1), backup(2, 1, 4)], [DEMO], windows);
  expect(row?.newest).toBe(Date.parse('2026-01-01T06:00:00Z'));
  expect(row?.oldest).toBe(Date.parse('2026-01-01T01:00:00Z'));
  expect(row?.periods.map(({ to }) => to)).toEqual([
    Date.parse('2026-01-01T03:00:00Z'),
    Date.parse('2026-01-01T06:00:00Z'),
  ]);
});

it('databases without a backup are included', () => {
  const [row] = recoveryPoints([backup(1, 1, 1, 'failed')], [DEMO], []);
  expect(row).toMatchObject({ count: 0, bytes: 0, newest: undefined, oldest: undefined });
});

it('backups of deleted databases are included with their last name', () => {
  const rows = recoveryPoints([backup(1, 7, 1)], [DEMO], []);
  expect(rows.map(({ name, exists }) => [name, exists])).toEqual([
    ['demo', true],
    ['name 7', false],
  ]);
});
