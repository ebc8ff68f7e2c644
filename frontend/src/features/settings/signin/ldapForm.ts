/** Values of the LDAP form and the request that they make. Pure. */
import type { LdapSettings, NewLdapSettings } from '@/api/types';
import { addresses } from './ldapText';

export type Query = NonNullable<LdapSettings['user_dn_query']>;

export interface LdapValues {
  control_plane: boolean;
  /** Addresses, one per line. */
  uris: string;
  starttls: boolean;
  bind_dn: string;
  bind_pass: string;
  /** Determines which of the next two fields is used. */
  userLookup: 'search' | 'template';
  user_dn_query: Query;
  user_dn_template: string;
  /** Determines which of the next two fields is used. */
  groupLookup: 'search' | 'attribute';
  dn_group_query: Query;
  dn_group_attr: string;
  /** Durations in seconds; empty strings if the user cleared the fields. */
  directory_timeout_s: string | number;
  cache_ttl: string | number;
  ca_cert: string;
}

const USER_QUERY: Query = { base: '', filter: '(&(objectClass=inetOrgPerson)(uid=%u))' };
const GROUP_QUERY: Query = { base: '', filter: '(&(objectClass=groupOfNames)(member=%D))' };

/** Return whether no directory is configured yet. */
export const isUnset = (stored: LdapSettings): boolean => stored.uris.length === 0;

export const ldapValues = (stored: LdapSettings): LdapValues => ({
  control_plane: isUnset(stored) || stored.control_plane,
  uris: stored.uris.join('\n'),
  starttls: stored.starttls,
  bind_dn: stored.bind_dn,
  bind_pass: '',
  userLookup: stored.user_dn_template ? 'template' : 'search',
  user_dn_query: stored.user_dn_query ?? USER_QUERY,
  user_dn_template: stored.user_dn_template,
  groupLookup: stored.dn_group_attr ? 'attribute' : 'search',
  dn_group_query: stored.dn_group_query ?? GROUP_QUERY,
  dn_group_attr: stored.dn_group_attr,
  directory_timeout_s: stored.directory_timeout_s,
  cache_ttl: stored.cache_ttl,
  ca_cert: stored.ca_cert,
});

/** Return whether the stored password is used if none is entered. It is not sent to other servers or with weaker protection. */
export const keepsPassword = (values: LdapValues, stored: LdapSettings): boolean =>
  stored.bind_pass !== '' &&
  addresses(values.uris).join() === stored.uris.join() &&
  values.bind_dn === stored.bind_dn &&
  values.ca_cert === stored.ca_cert &&
  values.starttls === stored.starttls;

/** Return the request; undefined while a required value is missing. */
export function ldapRequest(values: LdapValues, stored: LdapSettings): NewLdapSettings | undefined {
  const { control_plane, starttls, bind_dn, ca_cert, directory_timeout_s, cache_ttl } = values;
  const uris = addresses(values.uris);
  const password = passwordPart(values, keepsPassword(values, stored));
  const users = userLookupPart(values);
  const groups = groupLookupPart(values);
  const isComplete = uris.length > 0 && directory_timeout_s !== '' && cache_ttl !== '';
  if (!isComplete || !password || !users || !groups) return undefined;
  return {
    uris,
    starttls,
    control_plane,
    bind_dn,
    ca_cert,
    directory_timeout_s: Number(directory_timeout_s),
    cache_ttl: Number(cache_ttl),
    ...password,
    ...users,
    ...groups,
  };
}

type Part = Partial<NewLdapSettings> | undefined;

function passwordPart({ bind_dn, bind_pass }: LdapValues, isKept: boolean): Part {
  // Searches are anonymous.
  if (!bind_dn) return { bind_pass: '' };
  if (bind_pass) return { bind_pass };
  return isKept ? {} : undefined;
}

function userLookupPart({ userLookup, user_dn_query, user_dn_template }: LdapValues): Part {
  if (userLookup === 'search') return user_dn_query.filter ? { user_dn_query } : undefined;
  return user_dn_template ? { user_dn_template } : undefined;
}

function groupLookupPart({ groupLookup, dn_group_query, dn_group_attr }: LdapValues): Part {
  if (groupLookup === 'search') return dn_group_query.filter ? { dn_group_query } : undefined;
  return dn_group_attr ? { dn_group_attr } : undefined;
}
