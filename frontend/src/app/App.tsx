/** Root component: providers and router. */
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { clearUserData } from '@/api/access/session';
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

// Not on the sign-in page. On other pages, the router redirects to it if there is no session.
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
