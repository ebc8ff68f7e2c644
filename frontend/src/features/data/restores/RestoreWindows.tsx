/** Periods to which a database can be restored, to the second. */
import { useQuery } from '@tanstack/react-query';
import { restoreWindowsQuery } from '@/api/data/restores';
import { Card } from '@/ui/Card';
import { useZone } from '@/ui/useZone';
import { barParts, periods, periodText } from './restoreWindows';
import classes from './restoreWindows.module.css';

export function RestoreWindows({ bdb }: { bdb: number }) {
  const zone = useZone();
  const list = periods(useQuery(restoreWindowsQuery(bdb)).data ?? []);
  if (list.length === 0) return null;
  return (
    <Card title="Points in time">
      <div className={classes.windows}>
        <div className={classes.bar} aria-hidden="true">
          {barParts(list).map(({ left, width }) => (
            <span key={left} style={{ left: `${left}%`, width: `${width}%` }} />
          ))}
        </div>
        <ul>
          {list.map((period) => (
            <li key={period.from}>{periodText(period, zone)}</li>
          ))}
        </ul>
      </div>
    </Card>
  );
}
