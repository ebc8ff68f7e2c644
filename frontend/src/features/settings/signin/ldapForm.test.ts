import { describe, expect, it } from 'vitest';
import type { LdapSettings } from '@/api/types';
import { keepsPassword, type LdapValues, ldapRequest, ldapValues } from './ldapForm';

const STORED: LdapSettings = {
  uris: ['ldaps://one.example.org', 'ldaps://two.example.org:1636'],
  control_plane: true,
  data_plane: false,
  cba: false,
  starttls: false,
  ca_cert: '',
  bind_dn: 'cn=reader,dc=example,dc=org',
  bind_pass: '***',
  directory_timeout_s: 5,
  cache_ttl: 60,
  user_dn_template: 'uid=%u,ou=people,dc=example,dc=org',
  dn_group_attr: 'memberOf',
};
const VALUES = ldapValues(STORED);
const QUERY = { base: '', filter: '' };

describe('the stored password', () => {
  it('is kept for the same servers, however they are separated', () => {
    const values = { ...VALUES, uris: STORED.uris.join(', ') };
    expect(keepsPassword(values, STORED)).toBe(true);
    expect(ldapRequest(values, STORED)).not.toHaveProperty('bind_pass');
  });

  it.each<[string, Partial<LdapValues>]>([
    ['other servers', { uris: 'ldaps://one.example.org' }],
    ['another search user', { bind_dn: 'cn=other,dc=example,dc=org' }],
    ['another CA', { ca_cert: 'PEM' }],
    ['another use of StartTLS', { starttls: true }],
  ])('must be entered again for %s', (_, part) => {
    const values = { ...VALUES, ...part };
    expect(keepsPassword(values, STORED)).toBe(false);
    expect(ldapRequest(values, STORED)).toBeUndefined();
    expect(ldapRequest({ ...values, bind_pass: 'again' }, STORED)).toMatchObject({
      bind_pass: 'again',
    });
  });

  it('must be entered if none is stored', () => {
    expect(ldapRequest(VALUES, { ...STORED, bind_pass: '' })).toBeUndefined();
  });
});

describe('the request', () => {
  it.each<[string, Partial<LdapValues>]>([
    ['servers', { uris: ' \n' }],
    ['a timeout', { directory_timeout_s: '' }],
    ['a cache time', { cache_ttl: '' }],
    ['a DN template', { user_dn_template: '' }],
    ['a filter for users', { userLookup: 'search', user_dn_query: QUERY }],
    ['an attribute', { dn_group_attr: '' }],
    ['a filter for groups', { groupLookup: 'search', dn_group_query: QUERY }],
  ])('requires %s', (_, part) => {
    const values = { ...VALUES, bind_dn: '' };
    expect(ldapRequest(values, STORED)).toBeDefined();
    expect(ldapRequest({ ...values, ...part }, STORED)).toBeUndefined();
  });

  it('contains only the chosen way to find users and groups', () => {
    expect(ldapRequest({ ...VALUES, userLookup: 'search' }, STORED)).toEqual({
      uris: STORED.uris,
      starttls: false,
      control_plane: true,
      bind_dn: STORED.bind_dn,
      ca_cert: '',
      directory_timeout_s: 5,
      cache_ttl: 60,
      user_dn_query: { base: '', filter: '(&(objectClass=inetOrgPerson)(uid=%u))' },
      dn_group_attr: 'memberOf',
    });
  });
});
