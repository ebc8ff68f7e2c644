/** Navigation with the six sections: at the left, where it can be collapsed to icons, and at the bottom on phones. */

import {
  IconActivity,
  IconDatabase,
  IconGauge,
  IconLayoutDashboard,
  IconLayoutSidebarLeftCollapse,
  IconLayoutSidebarLeftExpand,
  IconServer2,
  IconSettings,
} from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useAlarms } from '@/features/alarms/useAlarms';
import { plural } from '@/lib/format';
import classes from './Frame.module.css';

const SECTIONS = [
  { to: '/', label: 'Overview', Icon: IconLayoutDashboard },
  { to: '/databases', label: 'Databases', Icon: IconDatabase },
  { to: '/nodes', label: 'Nodes', Icon: IconServer2 },
  { to: '/activity', label: 'Activity', Icon: IconActivity },
  { to: '/benchmarks', label: 'Benchmarks', Icon: IconGauge },
  { to: '/settings', label: 'Settings', Icon: IconSettings },
] as const;

const KEY = 'shardboard.nav';

export function Nav() {
  const [collapsed, setCollapsed] = useState(() => localStorage.getItem(KEY) === 'collapsed');
  const raised = useAlarms()?.open.length ?? 0;
  const toggle = () => {
    localStorage.setItem(KEY, collapsed ? 'open' : 'collapsed');
    setCollapsed(!collapsed);
  };
  const ToggleIcon = collapsed ? IconLayoutSidebarLeftExpand : IconLayoutSidebarLeftCollapse;
  return (
    <nav className={classes.nav} data-collapsed={collapsed || undefined} aria-label="Main">
      <Link to="/" className={classes.brand} aria-label="Shardboard">
        <img src="/favicon.svg" width={22} height={22} alt="" />
        <span className={classes.label}>Shardboard</span>
      </Link>
      {SECTIONS.map(({ to, label, Icon }) => {
        const alarms = to === '/activity' ? raised : 0;
        return (
          <Link
            key={to}
            to={to}
            className={classes.link}
            activeOptions={{ exact: to === '/', includeSearch: false }}
            aria-label={alarms ? `${label}, ${plural(alarms, 'active alarm')}` : label}
            title={label}
          >
            <Icon size={18} stroke={1.6} aria-hidden />
            <span className={classes.label}>{label}</span>
            {alarms > 0 && (
              <span className={classes.count} aria-hidden>
                {alarms}
              </span>
            )}
          </Link>
        );
      })}
      <button
        type="button"
        className={`${classes.link} ${classes.collapse}`}
        onClick={toggle}
        aria-label={collapsed ? 'Expand navigation' : 'Collapse navigation'}
      >
        <ToggleIcon size={18} stroke={1.6} aria-hidden />
        <span className={classes.label}>Collapse</span>
      </button>
    </nav>
  );
}
