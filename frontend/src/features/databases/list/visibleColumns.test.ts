import { describe, expect, it } from 'vitest';
import type { Bdb } from '@/api/types';
import type { Live } from '@/live/live';
import { columnsOf } from './databaseColumns';
import { visibleColumns } from './visibleColumns';

const columns = columnsOf({} as Live);
const plain = { tags: [], data_persistence: 'disabled' } as unknown as Bdb;
const tagged = { ...plain, tags: [{ key: 'env', value: 'prod' }], bigstore: true } as Bdb;
const ids = (width: number | undefined, bdbs = [tagged], choice = {}) =>
  visibleColumns(columns, bdbs, choice, width).map(({ id }) => id);

describe('visibleColumns', () => {
  it('shows all columns with content if they fit', () => {
    expect(ids(2000)).toEqual(columns.map(({ id }) => id));
    expect(ids(undefined)).toEqual(columns.map(({ id }) => id));
  });

  it('hides empty columns unless the user chose them', () => {
    expect(ids(2000, [plain])).not.toContain('tags');
    expect(ids(2000, [plain])).not.toContain('features');
    expect(ids(2000, [plain])).not.toContain('ram-hit');
    expect(ids(2000, [plain], { tags: true })).toContain('tags');
  });

  it('hides columns by priority on narrower screens', () => {
    expect(ids(600)).toEqual(['status', 'name', 'memory', 'ops']);
    expect(ids(900)).toEqual(['status', 'name', 'memory', 'shards', 'ops', 'p99', 'spark']);
    let previous: string[] = [];
    for (let width = 560; width < 1600; width += 20) {
      const now = ids(width);
      expect(now).toEqual(expect.arrayContaining(previous));
      previous = now;
    }
  });

  it('respects the choice of the user at any width', () => {
    expect(ids(600, [tagged], { tags: true, memory: false })).toEqual([
      'status',
      'name',
      'ops',
      'tags',
    ]);
    expect(ids(2000, [tagged], { name: false })).toContain('name');
  });

  it('shows all values on cards', () => {
    expect(ids(358)).toEqual(columns.map(({ id }) => id));
  });
});
