// @dom
import {
  createMemoryHistory,
  createRootRoute,
  createRoute,
  createRouter,
} from '@tanstack/react-router';
import { expect, it, vi } from 'vitest';
import { movedPages } from './movedPages';

it.each([
  ['/timeline?range=900&bdb=3', '/activity/timeline?range=900&bdb=3'],
  ['/timeline/incident/7', '/activity/incidents/7'],
  ['/events?severity=ERROR', '/activity/events?severity=ERROR'],
  ['/backups?backup=5', '/databases/backups?backup=5'],
  ['/users', '/settings#users'],
  ['/notifications', '/settings#notifications'],
])('%s leads to %s', async (old, address) => {
  vi.stubGlobal('scrollTo', () => undefined);
  const root = createRootRoute();
  const other = createRoute({ getParentRoute: () => root, path: '$' });
  const history = createMemoryHistory({ initialEntries: [old] });
  const router = createRouter({
    routeTree: root.addChildren([other, ...movedPages(root)]),
    history,
  });
  await router.load();
  await vi.waitFor(() => expect(history.location.href).toBe(address));
  vi.unstubAllGlobals();
});
