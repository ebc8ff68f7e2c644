/** Texts for the LDAP settings. */
import type { LdapSettings } from '@/api/types';

type Query = NonNullable<LdapSettings['user_dn_query']>;

/** Labels of the LDAP search scopes. */
export const SCOPES = [
  { value: 'subtree', label: 'All entries below the base' },
  { value: 'one', label: 'Entries directly below the base' },
  { value: 'base', label: 'Only the base entry' },
] as const;

const SCOPE_TEXTS: Record<Query['scope'] & string, string> = {
  subtree: 'below',
  one: 'directly below',
  base: 'at',
};

const queryText = ({ base, filter, scope = 'subtree' }: Query): string =>
  `${filter} ${SCOPE_TEXTS[scope]} ${base || 'the root'}`;

export const userSearchText = ({ user_dn_query, user_dn_template }: LdapSettings): string =>
  user_dn_query ? queryText(user_dn_query) : user_dn_template;

export const groupSearchText = ({ dn_group_query, dn_group_attr }: LdapSettings): string =>
  dn_group_query ? queryText(dn_group_query) : `${dn_group_attr} of the user`;

/** Return whether passwords are sent unencrypted to at least one of the servers. */
export const isUnencrypted = ({
  uris,
  starttls,
}: Pick<LdapSettings, 'uris' | 'starttls'>): boolean =>
  !starttls && uris.some((uri) => !uri.toLowerCase().startsWith('ldaps:'));

/** Split a text into server addresses, which are separated by line breaks, spaces or commas. */
export const addresses = (text: string): string[] => text.split(/[\s,]+/).filter(Boolean);
