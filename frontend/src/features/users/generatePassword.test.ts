import { describe, expect, it } from 'vitest';
import { generatePassword } from './generatePassword';

describe('generatePassword', () => {
  it('generates different passwords with all character classes', () => {
    const passwords = Array.from({ length: 50 }, generatePassword);
    expect(new Set(passwords).size).toBe(50);
    const kinds = [/^[\w.!-]{20}$/, /[a-z]/, /[A-Z]/, /[2-9]/, /[-_.!]/];
    expect(passwords.every((each) => kinds.every((kind) => kind.test(each)))).toBe(true);
  });
});
