/** Values of the single sign-on form and the request that they make. Pure. */
import type { NewOidcSettings, OidcSettings } from '@/api/types';

export interface OidcValues {
  enabled: boolean;
  name: string;
  issuer: string;
  client_id: string;
  client_secret: string;
  /** Whether the client has no secret. */
  isPublic: boolean;
  scope: string;
  username_claim: string;
  groups_claim: string;
  ca: string;
  groups: readonly GroupRole[];
  /** Identifier of the role of all other users; empty if they have none. */
  defaultRole: string;
}

/** Row of the list of groups. */
export interface GroupRole {
  key: number;
  group: string;
  /** Identifier of the role. */
  role: string;
}

const NEW: OidcValues = {
  enabled: true,
  name: 'single sign-on',
  issuer: '',
  client_id: '',
  client_secret: '',
  isPublic: false,
  scope: 'openid profile email',
  username_claim: 'email',
  groups_claim: 'groups',
  ca: '',
  groups: [],
  defaultRole: '',
};

/** Return the initial values. `stored` is null if no provider is configured. */
export function oidcValues(stored: OidcSettings | null): OidcValues {
  if (!stored) return NEW;
  const { roles, default_role_uid, has_client_secret, redirect_uri, ...fields } = stored;
  return {
    ...NEW,
    ...fields,
    isPublic: !has_client_secret,
    groups: (roles ?? []).map(({ group, role_uid }, key) => ({ key, group, role: `${role_uid}` })),
    defaultRole: `${default_role_uid ?? ''}`,
  };
}

/** Return whether the stored secret is used if none is entered. It is not sent to another provider or for another client. */
export const keepsSecret = (values: OidcValues, stored: OidcSettings | null): boolean =>
  stored?.has_client_secret === true &&
  values.issuer === stored.issuer &&
  values.client_id === stored.client_id;

/** Return the request; undefined while a required value is missing. */
export function oidcRequest(
  values: OidcValues,
  stored: OidcSettings | null,
): NewOidcSettings | undefined {
  const { client_secret, isPublic, groups, defaultRole, ...fields } = values;
  const hasSecret = isPublic || client_secret !== '' || keepsSecret(values, stored);
  if (!fields.issuer || !fields.client_id || !fields.name || !hasSecret) return undefined;
  return {
    ...fields,
    ...(isPublic ? { client_secret: '' } : client_secret && { client_secret }),
    roles: groups
      .filter(({ group }) => group.trim())
      .map(({ group, role }) => ({ group: group.trim(), role_uid: Number(role) })),
    default_role_uid: defaultRole ? Number(defaultRole) : null,
  };
}
