/** Page of one incident. */
import { useParams } from '@tanstack/react-router';
import { SwitchBackNotices } from '@/features/databases/header/SwitchBackNotice';
import { RunningTour } from '@/features/drills/GuidedTour';
import { IncidentView } from '@/features/timeline/incidents/IncidentView';
import classes from '../pages.module.css';
import { TimelineCharts } from './timeline';

export function IncidentPage() {
  const { uid } = useParams({ from: '/shell/activity/incidents/$uid' });
  return (
    <div className={classes.page}>
      <RunningTour />
      <IncidentView
        key={uid}
        uid={Number(uid)}
        charts={(bdb) => <TimelineCharts key={bdb} bdb={bdb} />}
        renderActions={(databases) => <SwitchBackNotices bdbUids={databases} />}
      />
    </div>
  );
}
