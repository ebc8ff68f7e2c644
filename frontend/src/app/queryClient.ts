/** How the page asks the console. */
import { QueryClient } from '@tanstack/react-query';
import { ApiError } from '@/api/http';

export const createQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      // The console may be on this very machine: whether there is a network says nothing.
      mutations: { networkMode: 'always' },
      queries: {
        networkMode: 'always',
        // The stream tells what changed; polling would only repeat it.
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status < 500),
      },
    },
  });
