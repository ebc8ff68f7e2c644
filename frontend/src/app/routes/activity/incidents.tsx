/** Incidents tab: outages of nodes and primaries. */
import { usePermission } from '@/api/access/session';
import { IncidentList } from '@/features/timeline/incidents/IncidentList';
import { EmptyState } from '@/ui/EmptyState';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function IncidentsPage() {
  const mayRead = usePermission('readIncidents');
  return (
    <div className={classes.page}>
      <SectionHead section="activity" />
      {mayRead ? (
        <IncidentList />
      ) : (
        <EmptyState title="You cannot view incidents">
          <span>Incidents can concern databases that your role does not include.</span>
        </EmptyState>
      )}
    </div>
  );
}
