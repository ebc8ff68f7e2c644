/** What every page shows, asked for while the first one is still being built. */
import type { QueryClient } from '@tanstack/react-query';
import type { AnyRoute, AnyRouter } from '@tanstack/react-router';
import { actionsQuery } from '@/api/actions';
import { bdbsQuery } from '@/api/bdbs';
import { eventsQuery } from '@/api/events';
import { healthQuery } from '@/api/health';
import { nodesQuery } from '@/api/nodes';
import { shardsQuery } from '@/api/shards';

export function prefetch(client: QueryClient): void {
  void client.prefetchQuery(bdbsQuery);
  void client.prefetchQuery(nodesQuery);
  void client.prefetchQuery(shardsQuery);
  void client.prefetchQuery(healthQuery);
  void client.prefetchQuery(eventsQuery);
  void client.prefetchQuery(actionsQuery);
}

/** Who stays this long will open others; who only passes by is not to pay for them. */
const STAYED_MS = 10_000;

/** Loads the code of all pages after a while, so that each opens also while the console cannot be reached. */
export function preloadPages(router: AnyRouter): void {
  const stop = router.subscribe('onRendered', () => {
    stop();
    setTimeout(() => whenIdle(load), STAYED_MS);
  });
  const load = async () => {
    for (const route of Object.values<AnyRoute>(router.routesById)) {
      try {
        await router.loadRouteChunk(route);
      } catch {
        return; // It is asked for again when somebody opens the page.
      }
    }
  };
}

/** Not every browser tells when it is idle. */
const whenIdle = (act: () => void): unknown =>
  'requestIdleCallback' in window ? requestIdleCallback(act) : act();
