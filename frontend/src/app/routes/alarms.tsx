/** Alarms page: active and ended alarms. */
import { Link } from '@tanstack/react-router';
import { usePermission } from '@/api/access/session';
import { AlarmTables } from '@/features/alarms/AlarmTables';
import classes from './pages.module.css';

export function AlarmsPage() {
  const mayAdminister = usePermission('administer');
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Alarms</h1>
        {mayAdminister && <Link to="/notifications">Alert thresholds and receivers</Link>}
      </div>
      <AlarmTables />
    </div>
  );
}
