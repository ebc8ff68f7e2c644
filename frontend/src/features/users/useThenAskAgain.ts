import { useQueryClient } from '@tanstack/react-query';
import { aclsQuery, rolesQuery } from '@/api/access';
import { usersQuery } from '@/api/users';

/** What was ordered is seen at once, in the tables and everywhere else: users show their roles, and roles their users. */
export function useThenAskAgain() {
  const client = useQueryClient();
  return async <T>(ordered: Promise<T>): Promise<T> => {
    const reply = await ordered;
    const queries = [usersQuery, rolesQuery, aclsQuery];
    await Promise.all(queries.map(({ queryKey }) => client.invalidateQueries({ queryKey })));
    return reply;
  };
}
