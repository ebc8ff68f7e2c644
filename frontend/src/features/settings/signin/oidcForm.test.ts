import { describe, expect, it } from 'vitest';
import { keepsSecret, type OidcValues, oidcRequest, oidcValues } from './oidcForm';
import { STORED_OIDC } from './oidcSettings.fixture';

const VALUES = oidcValues(STORED_OIDC);

describe('the stored secret', () => {
  it('is kept for the same issuer and client', () => {
    expect(keepsSecret(VALUES, STORED_OIDC)).toBe(true);
    expect(oidcRequest(VALUES, STORED_OIDC)).not.toHaveProperty('client_secret');
  });

  it.each<Partial<OidcValues>>([{ issuer: 'https://other.example.org' }, { client_id: 'another' }])(
    'must be entered again for %s',
    (part) => {
      const values = { ...VALUES, ...part };
      expect(keepsSecret(values, STORED_OIDC)).toBe(false);
      expect(oidcRequest(values, STORED_OIDC)).toBeUndefined();
      expect(oidcRequest({ ...values, client_secret: 'again' }, STORED_OIDC)).toMatchObject({
        client_secret: 'again',
      });
    },
  );

  it('is removed if the client becomes public', () => {
    const values = { ...VALUES, client_secret: 'entered', isPublic: true };
    expect(oidcRequest(values, STORED_OIDC)).toMatchObject({ client_secret: '' });
  });
});

describe('the request', () => {
  it('contains the stored settings if nothing changes', () => {
    const { has_client_secret, redirect_uri, ...settings } = STORED_OIDC;
    expect(oidcRequest(VALUES, STORED_OIDC)).toEqual(settings);
  });

  it.each(['issuer', 'client_id', 'name'] as const)('requires the field %s', (field) => {
    expect(oidcRequest({ ...VALUES, isPublic: true, [field]: '' }, STORED_OIDC)).toBeUndefined();
  });

  it('requires a secret for a new provider', () => {
    const values = {
      ...oidcValues(null),
      issuer: STORED_OIDC.issuer,
      client_id: STORED_OIDC.client_id,
    };
    expect(oidcRequest(values, null)).toBeUndefined();
    expect(oidcRequest({ ...values, isPublic: true }, null)).toBeDefined();
  });
});
