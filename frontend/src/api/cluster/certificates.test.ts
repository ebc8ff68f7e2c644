import { describe, expect, it } from 'vitest';
import { matchesHost } from './certificates';

describe('matchesHost', () => {
  it.each([
    ['console.example.com', true],
    ['CONSOLE.example.com', true],
    ['a.wild.example.com', true],
    ['a.b.wild.example.com', false],
    ['wild.example.com', false],
    ['example.com', false],
    ['192.0.2.7', true],
    ['192.0.2.8', false],
    ['[::1]', true],
    ['localhost', false],
  ])('%s: %s', (host, expected) => {
    const names = ['Console.example.com', '*.wild.example.com', '192.0.2.7', '::1'];
    expect(matchesHost(names, host)).toBe(expected);
  });
});
