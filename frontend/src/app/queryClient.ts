/** Query client with the defaults for requests to the console. */
import { QueryClient } from '@tanstack/react-query';
import { ApiError } from '@/api/http';

export const createQueryClient = () =>
  new QueryClient({
    defaultOptions: {
      // The console can run on the same machine, so it can be reachable without a network.
      mutations: { networkMode: 'always' },
      queries: {
        networkMode: 'always',
        // The stream reports changes, so polling is not necessary.
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        retry: (count, error) => count < 2 && !(error instanceof ApiError && error.status < 500),
      },
    },
  });
