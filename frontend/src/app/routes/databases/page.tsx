/** Page of a database: header and tabs. */
import { Link, Outlet, useNavigate, useParams } from '@tanstack/react-router';
import { useBdb } from '@/api/databases/bdbs';
import { messageOf } from '@/api/http';
import { DatabaseHeader } from '@/features/databases/header/DatabaseHeader';
import { EmptyState } from '@/ui/EmptyState';
import { PageSkeleton } from '@/ui/Skeletons';
import classes from '../pages.module.css';

const TABS = [
  { to: '/databases/$uid/metrics', label: 'Metrics' },
  { to: '/databases/$uid/shards', label: 'Shards' },
  { to: '/databases/$uid/endpoint', label: 'Endpoint' },
  { to: '/databases/$uid/configuration', label: 'Configuration' },
  { to: '/databases/$uid/backups', label: 'Backups' },
  { to: '/databases/$uid/availability', label: 'Availability' },
  { to: '/databases/$uid/events', label: 'Events' },
] as const;

export function DatabasePage() {
  const { uid } = useParams({ from: '/shell/databases/$uid' });
  const navigate = useNavigate();
  const { data: bdb, error } = useBdb(Number(uid));
  if (error && bdb === undefined)
    return <EmptyState title="The database could not be loaded">{messageOf(error)}</EmptyState>;
  if (bdb === undefined) return <PageSkeleton />;
  if (bdb === null) {
    return (
      <EmptyState title={`Database ${uid} does not exist`}>
        <span>It may have been deleted.</span>
        <Link to="/databases">All databases</Link>
      </EmptyState>
    );
  }
  return (
    <>
      <DatabaseHeader bdb={bdb} onDeleted={() => navigate({ to: '/databases' })} />
      <nav className={classes.tabs} aria-label="Database">
        {TABS.map(({ to, label }) => (
          <Link key={to} to={to} params={{ uid }} activeOptions={{ includeSearch: false }}>
            {label}
          </Link>
        ))}
      </nav>
      <Outlet />
    </>
  );
}

/** Return the database of the current address. Tabs are shown only if it exists. */
export function useTabBdb() {
  const { uid } = useParams({ from: '/shell/databases/$uid' });
  return useBdb(Number(uid)).data ?? null;
}
