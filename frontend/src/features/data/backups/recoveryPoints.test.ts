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
  const [row] = recoveryPoints(backups, [DEMO]);
  expect(row).toMatchObject({ name: 'demo', exists: true, count: 3, bytes: 30 });
  expect(row?.newest?.uid).toBe(2);
  expect(row?.oldest?.uid).toBe(3);
});

it('databases without a backup are included', () => {
  const [row] = recoveryPoints([backup(1, 1, 1, 'failed')], [DEMO]);
  expect(row).toMatchObject({ count: 0, bytes: 0, newest: undefined, oldest: undefined });
});

it('backups of deleted databases are included with their last name', () => {
  const rows = recoveryPoints([backup(1, 7, 1)], [DEMO]);
  expect(rows.map(({ name, exists }) => [name, exists])).toEqual([
    ['demo', true],
    ['name 7', false],
  ]);
});
