/** Entries of the command palette for pages. */
import type { Entry } from './entry';

export type PagePermission = 'administer' | 'manageUsers' | 'edit' | 'create';

interface Page {
  to: string;
  hash?: string;
  name: string;
  keywords?: string;
  keys?: readonly string[];
  /** Permission that the page requires. */
  permission?: PagePermission;
}

const PAGES: readonly Page[] = [
  { to: '/', name: 'Overview', keywords: 'home health', keys: ['g', 'o'] },
  { to: '/databases', name: 'Databases', keys: ['g', 'd'] },
  { to: '/databases/availability', name: 'Availability', keywords: 'service level sla' },
  { to: '/databases/backups', name: 'Backups', keywords: 'restore locations' },
  { to: '/nodes', name: 'Nodes', keywords: 'redundancy', keys: ['g', 'n'] },
  { to: '/activity', name: 'Activity', keys: ['g', 'a'] },
  { to: '/activity/timeline', name: 'Timeline', keywords: 'activity', keys: ['g', 't'] },
  { to: '/activity/incidents', name: 'Incidents', keywords: 'activity outages' },
  { to: '/activity/alarms', name: 'Alarms', keywords: 'alerts activity' },
  { to: '/activity/events', name: 'Events', keywords: 'log activity', keys: ['g', 'e'] },
  { to: '/activity/actions', name: 'Actions', keywords: 'operations progress activity' },
  { to: '/activity/audit', name: 'Audit', keywords: 'log activity', permission: 'administer' },
  { to: '/benchmarks', name: 'Benchmarks', keywords: 'runs', keys: ['g', 'b'] },
  { to: '/benchmarks/scenarios', name: 'Benchmark scenarios' },
  { to: '/cluster/metrics', name: 'Cluster metrics', keywords: 'charts' },
  { to: '/settings', name: 'Settings', keywords: 'policy certificates', keys: ['g', 's'] },
  {
    to: '/settings',
    hash: 'notifications',
    name: 'Notifications',
    keywords: 'webhooks settings',
    permission: 'administer',
  },
  {
    to: '/settings',
    hash: 'users',
    name: 'Users',
    keywords: 'roles access tokens settings',
    permission: 'manageUsers',
  },
];

export const pageEntries = (may: (permission: PagePermission) => boolean): Entry[] =>
  PAGES.filter(({ permission }) => permission === undefined || may(permission)).map(
    ({ to, hash, name, keywords, keys }) => ({
      id: `page-${to}${hash ? `#${hash}` : ''}`,
      kind: 'page',
      name,
      detail: 'page',
      ...(keywords ? { keywords } : {}),
      ...(keys ? { keys } : {}),
      target: { link: { to, ...(hash ? { hash } : {}) } },
    }),
  );
