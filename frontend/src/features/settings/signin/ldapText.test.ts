import { expect, it } from 'vitest';
import { addresses, isUnencrypted } from './ldapText';

it('splits addresses at spaces, commas and line breaks', () => {
  expect(addresses(' ldaps://a:636,ldaps://b\n\nldap://c  ')).toEqual([
    'ldaps://a:636',
    'ldaps://b',
    'ldap://c',
  ]);
  expect(addresses(' \n')).toEqual([]);
});

it('detects servers that receive passwords unencrypted', () => {
  expect(isUnencrypted({ uris: ['ldaps://a', 'ldap://b'], starttls: false })).toBe(true);
  expect(isUnencrypted({ uris: ['ldap://b'], starttls: true })).toBe(false);
  expect(isUnencrypted({ uris: ['ldaps://a'], starttls: false })).toBe(false);
});
