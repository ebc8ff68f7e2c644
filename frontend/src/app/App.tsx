/** Root component: providers and router. */
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { clearUserData, sessionQuery } from '@/api/access/session';
import { onSessionEnded } from '@/api/http';
import { prefetch, preloadPages } from './prefetch';
import { createQueryClient } from './queryClient';
import { createAppRouter } from './router';
import { cssVariables, theme } from './theme';

const client = createQueryClient();

const router = createAppRouter(client);

onSessionEnded(() => {
  clearUserData(client);
  const next = router.state.location.href;
  if (router.state.location.pathname !== '/login') {
    void router.navigate({ to: '/login', search: { next } });
  }
});

// Without a session, the router redirects to the sign-in page, which requires no data.
if (location.pathname !== '/login') {
  client.ensureQueryData(sessionQuery).then(
    () => prefetch(client),
    () => undefined,
  );
}
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
