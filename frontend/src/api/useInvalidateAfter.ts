import { type QueryKey, useQueryClient } from '@tanstack/react-query';

/** Return a function that waits for a change and then invalidates these queries, so that all views show the change. */
export function useInvalidateAfter(...queries: readonly { readonly queryKey: QueryKey }[]) {
  const client = useQueryClient();
  return async <T>(operation: Promise<T>): Promise<T> => {
    const reply = await operation;
    await Promise.all(queries.map(({ queryKey }) => client.invalidateQueries({ queryKey })));
    return reply;
  };
}
