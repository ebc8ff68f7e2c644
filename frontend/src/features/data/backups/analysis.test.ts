import { describe, expect, it } from 'vitest';
import type { BackupAnalysis } from '@/api/types';
import { analysisParts } from './analysis';

const EMPTY: BackupAnalysis = {
  types: {},
  prefixes: [],
  other_prefixes: { keys: 0, bytes: 0 },
  lifetimes: {},
  largest: [],
};

describe('the analysis of a backup', () => {
  it('has no tables if the backup was not analyzed', () => {
    expect(analysisParts(EMPTY)).toEqual([]);
  });

  it('shows the share of all bytes', () => {
    const parts = analysisParts({
      ...EMPTY,
      types: { hash: { keys: 1, bytes: 300 }, string: { keys: 9, bytes: 100 } },
      prefixes: [
        { prefix: 'user:', keys: 5, bytes: 200 },
        { prefix: '', keys: 3, bytes: 100 },
      ],
      other_prefixes: { keys: 2, bytes: 100 },
      lifetimes: { none: { keys: 8, bytes: 300 }, '1 day': { keys: 2, bytes: 100 } },
    });
    const shares = parts.map(({ title, rows }) => [
      title,
      rows.map((row) => [row.name, row.share]),
    ]);
    expect(shares).toEqual([
      [
        'Types',
        [
          ['hash', 0.75],
          ['string', 0.25],
        ],
      ],
      [
        'Prefixes',
        [
          ['user:', 0.5],
          ['Keys without a colon', 0.25],
          ['Other prefixes', 0.25],
        ],
      ],
      [
        'Times to live',
        [
          ['No expiry', 0.75],
          ['Up to 1 day', 0.25],
        ],
      ],
    ]);
  });
});
