import { aclsQuery, rolesQuery } from '@/api/access';
import { usersQuery } from '@/api/users';
import { useInvalidateAfter as useThenAsk } from '@/api/useThenAskAgain';

/** Invalidate users, roles and access lists after a change, because each list shows data of the others. */
export const useInvalidateUsers = () => useThenAsk(usersQuery, rolesQuery, aclsQuery);
