/** Drawer at the bottom of all pages with running and recently finished actions. Hidden if there are none. */

import { IconChevronDown, IconChevronUp } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { actionsQuery, isRunning } from '@/api/cluster/actions';
import { plural } from '@/lib/format';
import { ActionLine, ActionProgress } from './ActionProgress';
import classes from './actions.module.css';
import { useRecentActions } from './recentActions';

export function ActionsDrawer() {
  const { data } = useQuery(actionsQuery);
  const recent = useRecentActions(data);
  const [open, setOpen] = useState(false);
  if (!recent.length) return null;
  const running = recent.filter(isRunning);
  const newest = running[0] ?? recent[0];
  const ToggleIcon = open ? IconChevronDown : IconChevronUp;
  const title = running.length ? `${plural(running.length, 'action')} running` : 'Finished';

  return (
    <section className={classes.drawer} aria-label="Actions">
      <button
        type="button"
        className={classes.head}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <ToggleIcon size={16} aria-hidden />
        <strong>{title}</strong>
        {!open && newest && <ActionLine action={newest} />}
      </button>
      {open && (
        <ul className={classes.list}>
          {recent.map((action) => (
            <li key={action.action_uid}>
              <ActionProgress action={action} />
            </li>
          ))}
          <li>
            <Link to="/activity/actions">All actions</Link>
          </li>
        </ul>
      )}
    </section>
  );
}
