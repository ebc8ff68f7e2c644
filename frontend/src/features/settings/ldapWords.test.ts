import { expect, it } from 'vitest';
import { addresses, isInClear } from './ldapWords';

it('takes addresses as people type them', () => {
  expect(addresses(' ldaps://a:636,ldaps://b\n\nldap://c  ')).toEqual([
    'ldaps://a:636',
    'ldaps://b',
    'ldap://c',
  ]);
  expect(addresses(' \n')).toEqual([]);
});

it('tells whether a password can be read on the way', () => {
  expect(isInClear({ uris: ['ldaps://a', 'ldap://b'], starttls: false })).toBe(true);
  expect(isInClear({ uris: ['ldap://b'], starttls: true })).toBe(false);
  expect(isInClear({ uris: ['ldaps://a'], starttls: false })).toBe(false);
});
