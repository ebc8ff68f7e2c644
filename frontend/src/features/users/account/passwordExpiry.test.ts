import { describe, expect, it } from 'vitest';
import { expiryReminder } from './passwordExpiry';

const NOW = Date.parse('2026-06-01T12:00:00Z');

describe('expiryReminder', () => {
  it.each([
    ['2026-06-15T12:00:00Z', undefined],
    ['2026-06-15T11:59:59Z', 'Your password expires in 13\u00a0days'],
    ['2026-06-02T12:00:00Z', 'Your password expires in 1\u00a0day'],
    ['2026-06-02T11:00:00Z', 'Your password expires today'],
    ['2026-06-01T11:00:00Z', 'Your password has expired'],
  ])('%s', (at, words) => expect(expiryReminder(at, NOW)).toBe(words));
});
