/** API of users and their roles. Requires an administrator or user manager. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { NewUser, User, UserChanges } from '../types';

const PATH = '/v1/users';

export const usersQuery = queryOptions({
  queryKey: ['users'],
  queryFn: getQuery<User[]>(PATH),
  refetchInterval: 15_000,
});

export const createUser = (user: NewUser) => request<User>('POST', PATH, user);

export const changeUser = (uid: number, changes: UserChanges) =>
  request<User>('PUT', `${PATH}/${uid}`, changes);

/** Add a password. Existing passwords stay valid. */
export const addPassword = (username: string, password: string) =>
  request<unknown>('POST', `${PATH}/password`, { username, new_password: password });

/** Remove a password. The last one cannot be removed. */
export const removePassword = (username: string, password: string) =>
  request<unknown>('DELETE', `${PATH}/password`, { username, old_password: password });

export const removeUser = (uid: number) => request<unknown>('DELETE', `${PATH}/${uid}`);
