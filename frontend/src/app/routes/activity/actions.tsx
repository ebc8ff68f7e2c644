/** Actions tab: running and finished operations. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { ActionLog } from '@/features/actions/ActionLog';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function ActionsPage() {
  const filter = useSearch({ from: '/shell/activity/actions' });
  const navigate = useNavigate({ from: '/activity/actions' });
  return (
    <div className={classes.page}>
      <SectionHead section="activity" />
      <ActionLog
        filter={filter}
        onFilter={(change) => navigate({ search: (now) => ({ ...now, ...change }), replace: true })}
      />
    </div>
  );
}
