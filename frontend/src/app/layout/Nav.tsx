/** Navigation at the left, which can be collapsed to icons. */

import {
  IconAlertTriangle,
  IconArchive,
  IconBell,
  IconDatabase,
  IconGauge,
  IconHeartbeat,
  IconLayoutDashboard,
  IconLayoutSidebarLeftCollapse,
  IconLayoutSidebarLeftExpand,
  IconListDetails,
  IconServer2,
  IconSettings,
  IconShieldCheck,
  IconTimeline,
  IconUsers,
} from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { usePermission } from '@/api/access/session';
import { useActiveAlarms } from '@/api/alerting/health';
import classes from './Frame.module.css';

const LINKS = [
  { to: '/', label: 'Overview', Icon: IconLayoutDashboard },
  { to: '/databases', label: 'Databases', Icon: IconDatabase },
  { to: '/nodes', label: 'Nodes', Icon: IconServer2 },
  { to: '/backups', label: 'Backups', Icon: IconArchive },
  { to: '/benchmarks', label: 'Benchmarks', Icon: IconGauge },
  { to: '/timeline', label: 'Timeline', Icon: IconTimeline },
  { to: '/availability', label: 'Availability', Icon: IconHeartbeat },
  { to: '/alarms', label: 'Alarms', Icon: IconAlertTriangle },
  { to: '/events', label: 'Events', Icon: IconListDetails },
] as const;

const NOTIFICATIONS = { to: '/notifications', label: 'Notifications', Icon: IconBell } as const;
const USERS = { to: '/users', label: 'Users', Icon: IconUsers } as const;
const AUDIT = { to: '/audit', label: 'Audit', Icon: IconShieldCheck } as const;

const SETTINGS = { to: '/settings', label: 'Settings', Icon: IconSettings } as const;

const KEY = 'shardboard.nav';

export function Nav() {
  const [collapsed, setCollapsed] = useState(() => localStorage.getItem(KEY) === 'collapsed');
  const raised = useActiveAlarms()?.length ?? 0;
  const mayManage = usePermission('manageUsers');
  const mayAdminister = usePermission('administer');
  const links = [
    ...LINKS,
    ...(mayAdminister ? [NOTIFICATIONS] : []),
    ...(mayManage ? [USERS] : []),
    ...(mayAdminister ? [AUDIT, SETTINGS] : []),
  ];
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
      {links.map(({ to, label, Icon }) => (
        <Link
          key={to}
          to={to}
          className={classes.link}
          activeOptions={{ exact: to === '/', includeSearch: false }}
          aria-label={to === '/alarms' && raised ? `${label}, ${raised} active` : label}
          title={label}
        >
          <Icon size={18} stroke={1.6} aria-hidden />
          <span className={classes.label}>{label}</span>
          {to === '/alarms' && raised > 0 && (
            <span className={classes.count} aria-hidden>
              {raised}
            </span>
          )}
        </Link>
      ))}
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
