/** What every page shows, asked for while the first one is still being built. */
import type { QueryClient } from '@tanstack/react-query';
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
