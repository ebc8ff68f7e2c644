/** Alarms page: active and ended alarms. */
import { Link } from '@tanstack/react-router';
import { usePermission } from '@/api/access/session';
import { AlarmTables } from '@/features/alarms/AlarmTables';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function AlarmsPage() {
  const mayAdminister = usePermission('administer');
  return (
    <div className={classes.page}>
      <SectionHead section="activity">
        {mayAdminister && (
          <Link to="/settings" hash="notifications">
            Alert thresholds and receivers
          </Link>
        )}
      </SectionHead>
      <AlarmTables />
    </div>
  );
}
