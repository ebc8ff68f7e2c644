/** Providers around the router. */
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { ApiError, whenSignedOut } from '@/api/http';
import { prefetch, preloadPages } from './prefetch';
import { createAppRouter } from './router';
import { cssVariables, theme } from './theme';

const client = new QueryClient({
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

const router = createAppRouter(client);

whenSignedOut(() => {
  client.clear();
  const next = router.state.location.href;
  if (router.state.location.pathname !== '/login') {
    void router.navigate({ to: '/login', search: { next } });
  }
});

// Not before somebody has signed in; elsewhere the guard of the router knows what to do without a session.
if (location.pathname !== '/login') prefetch(client);
preloadPages(router);

export function App() {
  return (
    <MantineProvider theme={theme} cssVariablesResolver={cssVariables} defaultColorScheme="auto">
      <QueryClientProvider client={client}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  );
}
