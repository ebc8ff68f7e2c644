/** One outage, to be read and shared. */
import { useParams } from '@tanstack/react-router';
import { IncidentView } from '@/features/timeline/IncidentView';
import { TimelineCharts } from './timeline';

export function IncidentPage() {
  const { uid } = useParams({ from: '/shell/timeline/incident/$uid' });
  return <IncidentView key={uid} uid={Number(uid)} charts={<TimelineCharts />} />;
}
