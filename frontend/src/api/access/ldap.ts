/** API of the LDAP settings and of the roles of LDAP groups. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { LdapMapping, LdapSettings, NewLdapMapping, NewLdapSettings } from '../types';

const SETTINGS = '/v1/cluster/ldap';
const MAPPINGS = '/v1/ldap_mappings';

/** The list of addresses is empty if no directory is configured. */
export const ldapQuery = queryOptions({
  queryKey: ['ldap'],
  queryFn: getQuery<LdapSettings>(SETTINGS),
});

export const ldapMappingsQuery = queryOptions({
  queryKey: ['ldap_mappings'],
  queryFn: getQuery<LdapMapping[]>(MAPPINGS),
});

/** Save the settings. The console first checks the directory if sign-in with LDAP is enabled. */
export const saveLdap = (settings: NewLdapSettings) =>
  request<LdapSettings>('PUT', SETTINGS, settings);

export const removeLdap = () => request<unknown>('DELETE', SETTINGS);

export const saveLdapMapping = (uid: number | undefined, mapping: NewLdapMapping) =>
  uid === undefined
    ? request<LdapMapping>('POST', MAPPINGS, mapping)
    : request<LdapMapping>('PUT', `${MAPPINGS}/${uid}`, mapping);

export const removeLdapMapping = (uid: number) => request<unknown>('DELETE', `${MAPPINGS}/${uid}`);
