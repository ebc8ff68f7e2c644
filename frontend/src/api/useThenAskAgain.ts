import { type QueryKey, useQueryClient } from '@tanstack/react-query';

/** What was ordered is seen at once wherever these queries are shown. */
export function useThenAskAgain(...queries: readonly { readonly queryKey: QueryKey }[]) {
  const client = useQueryClient();
  return async <T>(ordered: Promise<T>): Promise<T> => {
    const reply = await ordered;
    await Promise.all(queries.map(({ queryKey }) => client.invalidateQueries({ queryKey })));
    return reply;
  };
}
