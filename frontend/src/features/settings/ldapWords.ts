/** The settings of a directory, in words. */
import type { LdapSettings } from '@/api/types';

type Query = NonNullable<LdapSettings['user_dn_query']>;

/** Where a search looks, by the name of its scope in LDAP. */
export const SCOPES = [
  { value: 'subtree', label: 'All below it' },
  { value: 'one', label: 'Those directly below it' },
  { value: 'base', label: 'It alone' },
] as const;

const WHERE: Record<Query['scope'] & string, string> = {
  subtree: 'below',
  one: 'directly below',
  base: 'in',
};

const queryWords = ({ base, filter, scope = 'subtree' }: Query): string =>
  `${filter} ${WHERE[scope]} ${base || 'everything'}`;

export const personWords = ({ user_dn_query, user_dn_template }: LdapSettings): string =>
  user_dn_query ? queryWords(user_dn_query) : user_dn_template;

export const groupWords = ({ dn_group_query, dn_group_attr }: LdapSettings): string =>
  dn_group_query ? queryWords(dn_group_query) : `${dn_group_attr} of the person`;

/** Whether a password could be read on the way to one of the servers. */
export const isInClear = ({ uris, starttls }: Pick<LdapSettings, 'uris' | 'starttls'>): boolean =>
  !starttls && uris.some((uri) => !uri.toLowerCase().startsWith('ldaps:'));

/** One address a line, or with commas and blanks between them. */
export const addresses = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);
