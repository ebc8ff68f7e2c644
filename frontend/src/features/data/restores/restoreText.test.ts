import { describe, expect, it } from 'vitest';
import type { Restore } from '@/api/types';
import { comparisonText, previousDataText, restoreStatus, resultText } from './restoreText';

const RESTORE = {
  kind: 'restore',
  forecast: '',
  status: 'succeeded',
  progress: 100,
  restored: 97,
  expired: 3,
  skipped: 0,
  unsupported: {},
  mismatched_slots: 0,
} as unknown as Restore;
const plain = (text: string | undefined) => text?.replaceAll('\u00a0', ' ');

describe('the status of a restore', () => {
  it.each([
    [{ status: 'running', progress: 42.9 }, 'progress', 'Running, 42%'],
    [{ status: 'failed' }, 'broken', 'Failed'],
    [{ status: 'cancelled' }, 'attention', 'Canceled'],
    [{}, 'ok', 'Succeeded'],
    [{ mismatched_slots: null }, 'ok', 'Succeeded'],
    [{ status: 'succeeded_with_losses' }, 'attention', 'Succeeded with losses'],
    [{ kind: 'inspection', forecast: 'possible' }, 'ok', 'Import possible'],
    [{ kind: 'inspection', forecast: 'losses' }, 'attention', 'Import with losses'],
    [{ kind: 'inspection', forecast: 'impossible' }, 'broken', 'Import not possible'],
    [{ kind: 'inspection', status: 'failed' }, 'broken', 'Failed'],
  ])('of %o is %s: %s', (part, tone, text) => {
    expect(restoreStatus({ ...RESTORE, ...part } as Restore)).toEqual({ tone, text });
  });
});

describe('the result of a restore', () => {
  it('contains the counts that are not zero', () => {
    expect(resultText({ ...RESTORE, expired: 0 })).toBe('97 keys restored');
    const others = { restored: 1, skipped: 2, unsupported: { module: 1, stream: 4 } };
    expect(resultText({ ...RESTORE, ...others })).toBe(
      '1 key restored, 3 expired, 2 skipped, 5 unsupported',
    );
  });

  it('contains the comparison with the backup if there was one', () => {
    expect(comparisonText(RESTORE)).toBe('All keys match the backup');
    expect(plain(comparisonText({ mismatched_slots: 1 }))).toBe(
      'The keys of 1 hash slot differ from the backup',
    );
    expect(comparisonText({ mismatched_slots: null })).toBeUndefined();
  });

  it('states whether the previous keys were deleted', () => {
    const kind = 'restore';
    expect(previousDataText({ kind, mode: 'merge', erased: false })).toMatch(/^Kept/);
    expect(previousDataText({ kind, mode: 'replace', erased: false })).toBe('Not deleted yet');
    expect(previousDataText({ kind, mode: 'replace', erased: true })).toBe('Deleted');
    const inspection = { kind: 'inspection', mode: 'replace', erased: false } as const;
    expect(previousDataText(inspection)).toBe('Kept');
  });
});
