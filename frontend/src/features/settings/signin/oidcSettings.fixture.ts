import type { OidcSettings } from '@/api/types';

/** Stored settings of single sign-on, with a client secret and one group. */
export const STORED_OIDC: OidcSettings = {
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
