import { aclsQuery, rolesQuery } from '@/api/access/roles';
import { usersQuery } from '@/api/access/users';
import { useInvalidateAfter as useThenAsk } from '@/api/useInvalidateAfter';

/** Invalidate users, roles and access lists after a change, because each list shows data of the others. */
export const useInvalidateUsers = () => useThenAsk(usersQuery, rolesQuery, aclsQuery);
