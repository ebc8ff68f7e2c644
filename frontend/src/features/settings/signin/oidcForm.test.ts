import { describe, expect, it } from 'vitest';
import type { OidcSettings } from '@/api/types';
import { keepsSecret, type OidcValues, oidcRequest, oidcValues } from './oidcForm';

const STORED: OidcSettings = {
  enabled: true,
  name: 'Example',
  issuer: 'https://login.example.org',
  client_id: 'shardboard',
  scope: 'openid email',
  username_claim: 'upn',
  groups_claim: 'roles',
  roles: [{ group: 'dba', role_uid: 1 }],
  default_role_uid: 5,
  ca: '',
  has_client_secret: true,
  redirect_uri: 'https://console/v1/session/sso/callback',
};
const VALUES = oidcValues(STORED);

describe('the stored secret', () => {
  it('is kept for the same issuer and client', () => {
    expect(keepsSecret(VALUES, STORED)).toBe(true);
    expect(oidcRequest(VALUES, STORED)).not.toHaveProperty('client_secret');
  });

  it.each<Partial<OidcValues>>([{ issuer: 'https://other.example.org' }, { client_id: 'another' }])(
    'must be entered again for %s',
    (part) => {
      const values = { ...VALUES, ...part };
      expect(keepsSecret(values, STORED)).toBe(false);
      expect(oidcRequest(values, STORED)).toBeUndefined();
      expect(oidcRequest({ ...values, client_secret: 'again' }, STORED)).toMatchObject({
        client_secret: 'again',
      });
    },
  );

  it('is removed if the client becomes public', () => {
    const values = { ...VALUES, client_secret: 'entered', isPublic: true };
    expect(oidcRequest(values, STORED)).toMatchObject({ client_secret: '' });
  });
});

describe('the request', () => {
  it('contains the stored settings if nothing changes', () => {
    const { has_client_secret, redirect_uri, ...settings } = STORED;
    expect(oidcRequest(VALUES, STORED)).toEqual(settings);
  });

  it.each(['issuer', 'client_id', 'name'] as const)('requires the field %s', (field) => {
    expect(oidcRequest({ ...VALUES, isPublic: true, [field]: '' }, STORED)).toBeUndefined();
  });

  it('requires a secret for a new provider', () => {
    const values = { ...oidcValues(null), issuer: STORED.issuer, client_id: STORED.client_id };
    expect(oidcRequest(values, null)).toBeUndefined();
    expect(oidcRequest({ ...values, isPublic: true }, null)).toBeDefined();
  });
});
