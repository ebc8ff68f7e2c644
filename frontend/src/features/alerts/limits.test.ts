import { describe, expect, it } from 'vitest';
import { changesOf, faultOf, type Limit, wantedOf } from './limits';

const SIZE: Limit = { name: 'size', label: 'Fuller than', unit: '%', usual: '80', most: 100 };
const EVEN: Limit = { name: 'even', label: 'Even' };

describe('wantedOf', () => {
  it('shows the usual threshold until there is another one', () => {
    expect(wantedOf(SIZE, {})).toEqual({ enabled: false, threshold: '80' });
    expect(wantedOf(SIZE, { size: { enabled: true, threshold: '5' } })).toEqual({
      enabled: true,
      threshold: '5',
    });
    expect(wantedOf(EVEN, { even: { enabled: true } })).toEqual({ enabled: true });
  });
});

describe('changesOf', () => {
  it('is what differs', () => {
    const now = { size: { enabled: true, threshold: '5' } };
    const draft = {
      size: { enabled: true, threshold: '6' },
      even: { enabled: false, threshold: undefined },
    };
    expect(changesOf([SIZE, EVEN], now, draft)).toEqual({ size: draft.size });
    expect(changesOf([SIZE, EVEN], now, {})).toEqual({});
  });
});

describe('faultOf', () => {
  it.each([
    ['', 'A number, such as 80 or 92.5'],
    ['-1', 'A number, such as 80 or 92.5'],
    ['1e3', 'A number, such as 80 or 92.5'],
    ['100.5', 'At most 100'],
    ['92.5', undefined],
  ])('of %o is %o', (threshold, fault) => expect(faultOf(SIZE, threshold)).toBe(fault));
  it('takes whole days only', () => {
    const days: Limit = { name: 'days', label: 'Within', unit: 'days', whole: true };
    expect(faultOf(days, '45')).toBeUndefined();
    for (const other of ['4.5', '', '-1', '123456'])
      expect(faultOf(days, other), other).toBeDefined();
  });
  it('has nothing to say of those without a threshold', () =>
    expect(faultOf(EVEN, undefined)).toBeUndefined());
});
