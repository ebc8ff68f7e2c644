/** Breadcrumb from the address, with names instead of uids. */
import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import { useEffect } from 'react';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import classes from './Frame.module.css';

const PAGE_TITLES: Record<string, string> = {
  cluster: 'Overview',
  databases: 'Databases',
  nodes: 'Nodes',
  backups: 'Backups',
  benchmarks: 'Benchmarks',
  timeline: 'Timeline',
  availability: 'Availability',
  alarms: 'Alarms',
  events: 'Events',
  users: 'Users',
  audit: 'Audit',
  notifications: 'Notifications',
  settings: 'Settings',
  new: 'New database',
};

const RUNS: Record<string, string> = {
  new: 'New run',
  compare: 'Compare runs',
  scenarios: 'Scenarios',
};

export function Breadcrumbs() {
  const { pathname } = useLocation();
  const { data: bdbs } = useQuery(shownBdbsQuery);
  const isScenario = pathname.startsWith('/benchmarks/scenarios');
  const parts = pathname
    .split('/')
    .filter(Boolean)
    .slice(0, isScenario ? 3 : 2);
  const labels = parts.map((part, index) => {
    if (isScenario && index === 2) return `Scenario run ${part}`;
    if (parts[0] === 'benchmarks' && index) return RUNS[part] ?? `Benchmark ${part}`;
    if (index === 0 || part === 'new') return PAGE_TITLES[part] ?? part;
    if (parts[0] === 'nodes') return `Node ${part}`;
    if (part === 'incident') return 'Incident';
    if (part === 'metrics') return 'Metrics';
    return bdbs?.find((bdb) => String(bdb.uid) === part)?.name ?? `Database ${part}`;
  });
  const title = labels.at(-1) ?? 'Overview';
  useEffect(() => {
    document.title = `${title} · Shardboard`;
  }, [title]);

  return (
    <ol className={classes.crumbs} aria-label="Breadcrumb">
      {labels.length === 0 && <li aria-current="page">Overview</li>}
      {labels.map((label, index) => (
        <li key={label}>
          {index < labels.length - 1 ? (
            <Link
              to={
                (parts[0] === 'cluster'
                  ? '/'
                  : `/${parts.slice(0, index + 1).join('/')}`) as '/databases'
              }
            >
              {label}
            </Link>
          ) : (
            <span aria-current="page">{label}</span>
          )}
        </li>
      ))}
    </ol>
  );
}
