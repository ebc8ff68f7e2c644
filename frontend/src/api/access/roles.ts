/** API of roles and access lists. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { Acl, NewAcl, NewRole, Role } from '../types';

const ACLS = '/v1/redis_acls';
const ROLES = '/v1/roles';
/** First uid of custom roles and access lists. Lower uids are built in and cannot be changed. */
const FIRST_CUSTOM = 17;

export const isCustom = ({ uid }: { uid: number }): boolean => uid >= FIRST_CUSTOM;

export const aclsQuery = queryOptions({
  queryKey: ['redis_acls'],
  queryFn: getQuery<Acl[]>(ACLS),
});

export const rolesQuery = queryOptions({
  queryKey: ['roles'],
  queryFn: getQuery<Role[]>(ROLES),
});

export const saveAcl = (uid: number | undefined, acl: NewAcl) =>
  uid === undefined ? request<Acl>('POST', ACLS, acl) : request<Acl>('PUT', `${ACLS}/${uid}`, acl);

export const removeAcl = (uid: number) => request<unknown>('DELETE', `${ACLS}/${uid}`);

export const saveRole = (uid: number | undefined, role: NewRole) =>
  uid === undefined
    ? request<Role>('POST', ROLES, role)
    : request<Role>('PUT', `${ROLES}/${uid}`, role);

export const removeRole = (uid: number) => request<unknown>('DELETE', `${ROLES}/${uid}`);
