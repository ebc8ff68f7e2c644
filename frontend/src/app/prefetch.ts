/** Prefetching of data that every page shows, and of the code of all pages. */
import type { QueryClient } from '@tanstack/react-query';
import type { AnyRoute, AnyRouter } from '@tanstack/react-router';
import { eventsQuery } from '@/api/alerting/events';
import { healthQuery } from '@/api/alerting/health';
import { actionsQuery } from '@/api/cluster/actions';
import { nodesQuery } from '@/api/cluster/nodes';
import { bdbsQuery } from '@/api/databases/bdbs';
import { shardsQuery } from '@/api/databases/shards';

export function prefetch(client: QueryClient): void {
  void client.prefetchQuery(bdbsQuery);
  void client.prefetchQuery(nodesQuery);
  void client.prefetchQuery(shardsQuery);
  void client.prefetchQuery(healthQuery);
  void client.prefetchQuery(eventsQuery);
  void client.prefetchQuery(actionsQuery);
}

/** Delay before pages are preloaded, so that short visits do not load them. */
const HOVER_MS = 10_000;

/** After the sign-in, load the code of all pages after a delay, so that they also open while the console is unreachable. */
export function preloadPages(router: AnyRouter): void {
  const stop = router.subscribe('onRendered', ({ toLocation }) => {
    if (toLocation.pathname === '/login') return;
    stop();
    setTimeout(() => whenIdle(load), HOVER_MS);
  });
  const load = async () => {
    for (const route of Object.values<AnyRoute>(router.routesById)) {
      try {
        await router.loadRouteChunk(route);
      } catch {
        return; // The code is loaded when the page is opened.
      }
    }
  };
}

/** Run a function when the browser is idle, or immediately if the browser does not support this. */
const whenIdle = (act: () => void): unknown =>
  'requestIdleCallback' in window ? requestIdleCallback(act) : act();
