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
  activity: 'Activity',
  benchmarks: 'Benchmarks',
  guide: 'Guide',
  settings: 'Settings',
  device: 'Sign in a program',
};

/** Titles of the pages of a section. */
const SUBPAGE_TITLES: Record<string, Record<string, string>> = {
  cluster: { metrics: 'Metrics' },
  databases: { new: 'New database', backups: 'Backups', availability: 'Availability' },
  activity: {
    timeline: 'Timeline',
    incidents: 'Incidents',
    alarms: 'Alarms',
    events: 'Events',
    actions: 'Actions',
    audit: 'Audit',
  },
  benchmarks: { new: 'New run', compare: 'Compare runs', scenarios: 'Scenarios' },
};

/** Titles of the objects of pages with three parts. */
const OBJECT_TITLES: Record<string, string> = {
  '/benchmarks/scenarios': 'Scenario run',
  '/activity/incidents': 'Incident',
};

export function Breadcrumbs() {
  const { pathname } = useLocation();
  const { data: bdbs } = useQuery(shownBdbsQuery);
  const all = pathname.split('/').filter(Boolean);
  const objectTitle = OBJECT_TITLES[`/${all.slice(0, 2).join('/')}`];
  // The guide has no page that lists all pages.
  const parts = all.slice(0, objectTitle ? 3 : all[0] === 'guide' ? 1 : 2);
  const [section = ''] = parts;
  const labels = parts.map((part, index) => {
    if (index === 0) return PAGE_TITLES[part] ?? part;
    if (index === 2) return `${objectTitle} ${part}`;
    const title = SUBPAGE_TITLES[section]?.[part];
    if (title) return title;
    if (section === 'benchmarks') return `Benchmark ${part}`;
    if (section === 'nodes') return `Node ${part}`;
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
                (section === 'cluster'
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
