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
import { movedPages } from './movedPages';
import { NotFoundPage, RouteError } from './routes/fallback';
import { LoginPage } from './routes/login';
import { OverviewPage } from './routes/overview';
import {
  actionsSearch,
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

type TimeAxisRule = (search: object) => boolean;

const always: TimeAxisRule = () => true;
/** The list of all events has no time range. */
const ofRange: TimeAxisRule = (search) => !('span' in search && search.span === 'all');
/** Only the panel of a shard has charts. */
const ofShard: TimeAxisRule = (search) => 'shard' in search && search.shard !== undefined;

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

const overview = createRoute({
  getParentRoute: () => shell,
  path: '/',
  staticData: { hasTimeAxis: always },
  component: OverviewPage,
});

const clusterMetrics = createRoute({
  getParentRoute: () => shell,
  path: 'cluster/metrics',
  validateSearch: metricsSearch,
  staticData: { hasTimeAxis: always },
  component: lazyRouteComponent(() => import('./routes/cluster-metrics'), 'ClusterMetricsPage'),
});

const databases = createRoute({
  getParentRoute: () => shell,
  path: 'databases',
  validateSearch: databasesSearch,
  staticData: { hasTimeAxis: always },
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
  staticData: { hasTimeAxis: always },
  component: lazyRouteComponent(() => import('./routes/databases/metrics'), 'DatabaseMetricsTab'),
});

const databaseShards = createRoute({
  getParentRoute: () => database,
  path: 'shards',
  validateSearch: shardsSearch,
  staticData: { hasTimeAxis: ofShard },
  component: lazyRouteComponent(() => import('./routes/databases/shards'), 'DatabaseShardsTab'),
});

const databaseEndpoint = createRoute({
  getParentRoute: () => database,
  path: 'endpoint',
  staticData: { hasTimeAxis: always },
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
  staticData: { hasTimeAxis: ofRange },
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
  path: 'databases/availability',
  validateSearch: availabilitySearch,
  component: lazyRouteComponent(
    () => import('./routes/databases/all-availability'),
    'AvailabilityPage',
  ),
});

const nodes = createRoute({
  getParentRoute: () => shell,
  path: 'nodes',
  component: lazyRouteComponent(() => import('./routes/nodes'), 'NodesPage'),
});

const node = createRoute({
  getParentRoute: () => shell,
  path: 'nodes/$uid',
  staticData: { hasTimeAxis: always },
  component: lazyRouteComponent(() => import('./routes/node'), 'NodePage'),
});

const backups = createRoute({
  getParentRoute: () => shell,
  path: 'databases/backups',
  validateSearch: backupsSearch,
  component: lazyRouteComponent(() => import('./routes/databases/all-backups'), 'BackupsPage'),
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

const activity = createRoute({
  getParentRoute: () => shell,
  path: 'activity',
  beforeLoad: () => {
    throw redirect({ to: '/activity/timeline', replace: true });
  },
});

const timeline = createRoute({
  getParentRoute: () => shell,
  path: 'activity/timeline',
  validateSearch: timelineSearch,
  staticData: { hasTimeAxis: always },
  component: lazyRouteComponent(() => import('./routes/activity/timeline'), 'TimelinePage'),
});

const incidents = createRoute({
  getParentRoute: () => shell,
  path: 'activity/incidents',
  component: lazyRouteComponent(() => import('./routes/activity/incidents'), 'IncidentsPage'),
});

const incident = createRoute({
  getParentRoute: () => shell,
  path: 'activity/incidents/$uid',
  component: lazyRouteComponent(() => import('./routes/activity/incident'), 'IncidentPage'),
});

const alarms = createRoute({
  getParentRoute: () => shell,
  path: 'activity/alarms',
  staticData: { hasTimeAxis: always },
  component: lazyRouteComponent(() => import('./routes/activity/alarms'), 'AlarmsPage'),
});

const events = createRoute({
  getParentRoute: () => shell,
  path: 'activity/events',
  validateSearch: eventSearch,
  staticData: { hasTimeAxis: ofRange },
  component: lazyRouteComponent(() => import('./routes/activity/events'), 'EventsPage'),
});

const actions = createRoute({
  getParentRoute: () => shell,
  path: 'activity/actions',
  validateSearch: actionsSearch,
  component: lazyRouteComponent(() => import('./routes/activity/actions'), 'ActionsPage'),
});

const audit = createRoute({
  getParentRoute: () => shell,
  path: 'activity/audit',
  validateSearch: auditSearch,
  component: lazyRouteComponent(() => import('./routes/activity/audit'), 'AuditPage'),
});

const device = createRoute({
  getParentRoute: () => shell,
  path: 'device',
  component: lazyRouteComponent(() => import('./routes/device'), 'DevicePage'),
});

const settings = createRoute({
  getParentRoute: () => shell,
  path: 'settings',
  component: lazyRouteComponent(() => import('./routes/settings/page'), 'SettingsPage'),
});

const guide = createRoute({
  getParentRoute: () => shell,
  path: 'guide/$page',
  component: lazyRouteComponent(() => import('./routes/guide'), 'GuidePage'),
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
    guide,
    availability,
    activity,
    timeline,
    incidents,
    incident,
    alarms,
    events,
    actions,
    audit,
    settings,
    device,
    ...movedPages(shell),
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
  interface StaticDataRouteOption {
    /** Whether the page has a time axis, on which the time range and *Live* act. */
    hasTimeAxis?: TimeAxisRule;
  }
}
