import { expect, it } from 'vitest';
import type { BackupGrowth } from '@/api/types';
import { changeText, growthParts } from './growth';

const row = (name: string, bytes: number, previous: number | null) => ({
  name,
  keys: 1,
  bytes,
  previous_keys: previous === null ? null : 1,
  previous_bytes: previous,
});

it('only types and prefixes that changed are shown', () => {
  const growth = {
    types: [row('string', 5, 5)],
    prefixes: [row('', 9, 5), row('a:', 5, 5), row('b:', 5, null)],
  } as unknown as BackupGrowth;
  expect(
    growthParts(growth).map(({ title, rows }) => [title, rows.map(({ name }) => name)]),
  ).toEqual([['Growth by prefix', ['Keys without a colon', 'b:']]]);
});

it.each([
  [1_500, 1_000, '+500'],
  [1_000, 1_500, '\u2212500'],
  [7, 7, 'No change'],
])('the change to %d from %d is %s', (now, before, text) => {
  expect(changeText('count', now, before)).toBe(text);
});
