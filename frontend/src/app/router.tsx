/** Routes of the web UI. Most pages are loaded when they are first opened. */
import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router';
import { sessionQuery } from '@/api/access/session';
import { ApiError } from '@/api/http';
import { Frame } from './layout/Frame';
import { NotFoundPage, RouteError } from './routes/fallback';
import { LoginPage } from './routes/login';
import { OverviewPage } from './routes/overview';
import {
  auditSearch,
  availabilitySearch,
  backupsSearch,
  compareSearch,
  databasesSearch,
  eventSearch,
  frameSearch,
  loginSearch,
  metricsSearch,
  newRunSearch,
  scenarioRunSearch,
  shardsSearch,
  timelineSearch,
} from './search';

const root = createRootRouteWithContext<{ client: QueryClient }>()({
  validateSearch: frameSearch,
  search: { middlewares: [retainSearchParams(['range', 'from', 'to', 'res'])] },
  errorComponent: RouteError,
});

const login = createRoute({
  getParentRoute: () => root,
  path: 'login',
  validateSearch: loginSearch,
  component: LoginPage,
});

const shell = createRoute({
  getParentRoute: () => root,
  id: 'shell',
  component: Frame,
  beforeLoad: async ({ context, location }) => {
    try {
      await context.client.ensureQueryData(sessionQuery);
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      throw redirect({ to: '/login', search: { next: location.href } });
    }
  },
});

const overview = createRoute({ getParentRoute: () => shell, path: '/', component: OverviewPage });

const clusterMetrics = createRoute({
  getParentRoute: () => shell,
  path: 'cluster/metrics',
  validateSearch: metricsSearch,
  component: lazyRouteComponent(() => import('./routes/cluster-metrics'), 'ClusterMetricsPage'),
});

const databases = createRoute({
  getParentRoute: () => shell,
  path: 'databases',
  validateSearch: databasesSearch,
  component: lazyRouteComponent(() => import('./routes/databases/list'), 'DatabasesPage'),
});

const databaseNew = createRoute({
  getParentRoute: () => shell,
  path: 'databases/new',
  component: lazyRouteComponent(() => import('./routes/databases/new'), 'DatabaseNewPage'),
});

const database = createRoute({
  getParentRoute: () => shell,
  path: 'databases/$uid',
  component: lazyRouteComponent(() => import('./routes/databases/page'), 'DatabasePage'),
});

const databaseIndex = createRoute({
  getParentRoute: () => database,
  path: '/',
  beforeLoad: ({ params }) => {
    throw redirect({ to: '/databases/$uid/metrics', params, replace: true });
  },
});

const databaseMetrics = createRoute({
  getParentRoute: () => database,
  path: 'metrics',
  validateSearch: metricsSearch,
  component: lazyRouteComponent(() => import('./routes/databases/metrics'), 'DatabaseMetricsTab'),
});

const databaseShards = createRoute({
  getParentRoute: () => database,
  path: 'shards',
  validateSearch: shardsSearch,
  component: lazyRouteComponent(() => import('./routes/databases/shards'), 'DatabaseShardsTab'),
});

const databaseEndpoint = createRoute({
  getParentRoute: () => database,
  path: 'endpoint',
  component: lazyRouteComponent(() => import('./routes/databases/endpoint'), 'DatabaseEndpointTab'),
});

const databaseConfiguration = createRoute({
  getParentRoute: () => database,
  path: 'configuration',
  component: lazyRouteComponent(
    () => import('./routes/databases/configuration'),
    'DatabaseConfigurationTab',
  ),
});

const databaseBackups = createRoute({
  getParentRoute: () => database,
  path: 'backups',
  validateSearch: backupsSearch,
  component: lazyRouteComponent(() => import('./routes/databases/backups'), 'DatabaseBackupsTab'),
});

const databaseEvents = createRoute({
  getParentRoute: () => database,
  path: 'events',
  validateSearch: eventSearch,
  component: lazyRouteComponent(() => import('./routes/databases/events'), 'DatabaseEventsTab'),
});

const databaseAvailability = createRoute({
  getParentRoute: () => database,
  path: 'availability',
  validateSearch: availabilitySearch,
  component: lazyRouteComponent(
    () => import('./routes/databases/availability'),
    'DatabaseAvailabilityTab',
  ),
});

const availability = createRoute({
  getParentRoute: () => shell,
  path: 'availability',
  validateSearch: availabilitySearch,
  component: lazyRouteComponent(() => import('./routes/availability'), 'AvailabilityPage'),
});

const nodes = createRoute({
  getParentRoute: () => shell,
  path: 'nodes',
  component: lazyRouteComponent(() => import('./routes/nodes'), 'NodesPage'),
});

const node = createRoute({
  getParentRoute: () => shell,
  path: 'nodes/$uid',
  component: lazyRouteComponent(() => import('./routes/node'), 'NodePage'),
});

const backups = createRoute({
  getParentRoute: () => shell,
  path: 'backups',
  validateSearch: backupsSearch,
  component: lazyRouteComponent(() => import('./routes/backups'), 'BackupsPage'),
});

const benchmarks = createRoute({
  getParentRoute: () => shell,
  path: 'benchmarks',
  component: lazyRouteComponent(() => import('./routes/benchmarks/list'), 'BenchmarksPage'),
});

const benchmarkNew = createRoute({
  getParentRoute: () => shell,
  path: 'benchmarks/new',
  validateSearch: newRunSearch,
  component: lazyRouteComponent(() => import('./routes/benchmarks/new'), 'BenchmarkNewPage'),
});

const benchmarkCompare = createRoute({
  getParentRoute: () => shell,
  path: 'benchmarks/compare',
  validateSearch: compareSearch,
  component: lazyRouteComponent(
    () => import('./routes/benchmarks/compare'),
    'BenchmarkComparePage',
  ),
});

const scenarios = createRoute({
  getParentRoute: () => shell,
  path: 'benchmarks/scenarios',
  component: lazyRouteComponent(() => import('./routes/benchmarks/scenarios'), 'ScenariosPage'),
});

const scenarioRun = createRoute({
  getParentRoute: () => shell,
  path: 'benchmarks/scenarios/$uid',
  validateSearch: scenarioRunSearch,
  component: lazyRouteComponent(
    () => import('./routes/benchmarks/scenario-run'),
    'ScenarioRunPage',
  ),
});

const benchmark = createRoute({
  getParentRoute: () => shell,
  path: 'benchmarks/$uid',
  component: lazyRouteComponent(() => import('./routes/benchmarks/page'), 'BenchmarkPage'),
});

const timeline = createRoute({
  getParentRoute: () => shell,
  path: 'timeline',
  validateSearch: timelineSearch,
  component: lazyRouteComponent(() => import('./routes/timeline'), 'TimelinePage'),
});

const incident = createRoute({
  getParentRoute: () => shell,
  path: 'timeline/incident/$uid',
  component: lazyRouteComponent(() => import('./routes/incident'), 'IncidentPage'),
});

const alarms = createRoute({
  getParentRoute: () => shell,
  path: 'alarms',
  component: lazyRouteComponent(() => import('./routes/alarms'), 'AlarmsPage'),
});

const events = createRoute({
  getParentRoute: () => shell,
  path: 'events',
  validateSearch: eventSearch,
  component: lazyRouteComponent(() => import('./routes/events'), 'EventsPage'),
});

const users = createRoute({
  getParentRoute: () => shell,
  path: 'users',
  component: lazyRouteComponent(() => import('./routes/users'), 'UsersPage'),
});

const audit = createRoute({
  getParentRoute: () => shell,
  path: 'audit',
  validateSearch: auditSearch,
  component: lazyRouteComponent(() => import('./routes/audit'), 'AuditPage'),
});

const notifications = createRoute({
  getParentRoute: () => shell,
  path: 'notifications',
  component: lazyRouteComponent(() => import('./routes/notifications'), 'NotificationsPage'),
});

const settings = createRoute({
  getParentRoute: () => shell,
  path: 'settings',
  component: lazyRouteComponent(() => import('./routes/settings'), 'SettingsPage'),
});

/** All other addresses, so that the navigation stays visible. */
const notFound = createRoute({ getParentRoute: () => shell, path: '$', component: NotFoundPage });

const tree = root.addChildren([
  login,
  shell.addChildren([
    overview,
    clusterMetrics,
    databases,
    databaseNew,
    database.addChildren([
      databaseIndex,
      databaseMetrics,
      databaseShards,
      databaseEndpoint,
      databaseConfiguration,
      databaseBackups,
      databaseAvailability,
      databaseEvents,
    ]),
    nodes,
    node,
    backups,
    benchmarks,
    benchmarkNew,
    benchmarkCompare,
    scenarios,
    scenarioRun,
    benchmark,
    timeline,
    incident,
    availability,
    alarms,
    events,
    users,
    audit,
    notifications,
    settings,
    notFound,
  ]),
]);

export function createAppRouter(client: QueryClient) {
  return createRouter({
    routeTree: tree,
    context: { client },
    defaultPreload: 'intent',
    defaultPendingMs: 400,
    // Set on every route, so that the navigation stays visible if a page fails.
    defaultErrorComponent: RouteError,
  });
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
