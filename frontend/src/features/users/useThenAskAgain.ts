import { aclsQuery, rolesQuery } from '@/api/access';
import { usersQuery } from '@/api/users';
import { useThenAskAgain as useThenAsk } from '@/api/useThenAskAgain';

/** Users show their roles, and roles their users. */
export const useThenAskAgain = () => useThenAsk(usersQuery, rolesQuery, aclsQuery);
