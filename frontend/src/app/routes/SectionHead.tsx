/** Heading and tabs of a section that has several pages. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { usePermission } from '@/api/access/session';
import classes from './pages.module.css';

const SECTIONS = {
  databases: {
    title: 'Databases',
    tabs: [
      { to: '/databases', label: 'All databases' },
      { to: '/databases/backups', label: 'Backups' },
      { to: '/databases/availability', label: 'Availability' },
    ],
  },
  activity: {
    title: 'Activity',
    tabs: [
      { to: '/activity/timeline', label: 'Timeline' },
      { to: '/activity/incidents', label: 'Incidents' },
      { to: '/activity/alarms', label: 'Alarms' },
      { to: '/activity/events', label: 'Events' },
      { to: '/activity/actions', label: 'Actions' },
      { to: '/activity/audit', label: 'Audit' },
    ],
  },
  benchmarks: {
    title: 'Benchmarks',
    tabs: [
      { to: '/benchmarks', label: 'Runs' },
      { to: '/benchmarks/scenarios', label: 'Scenarios' },
      { to: '/benchmarks/compare', label: 'Compare' },
    ],
  },
} as const;

interface Props {
  section: keyof typeof SECTIONS;
  /** Buttons or links next to the heading. */
  children?: ReactNode;
}

export function SectionHead({ section, children }: Props) {
  const mayAdminister = usePermission('administer');
  const { title, tabs } = SECTIONS[section];
  return (
    <>
      <div className={classes.head}>
        <h1>{title}</h1>
        {children}
      </div>
      <nav className={classes.tabs} aria-label={title}>
        {tabs
          .filter(({ to }) => mayAdminister || to !== '/activity/audit')
          .map(({ to, label }) => (
            <Link
              key={to}
              to={to}
              {...(to === '/benchmarks/compare' && { search: { uids: '' } })}
              activeOptions={{ exact: true, includeSearch: false }}
            >
              {label}
            </Link>
          ))}
      </nav>
    </>
  );
}
