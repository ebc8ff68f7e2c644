/** Charts of a database. */
import type { Bdb } from '@/api/types';
import { Dashboard, type OnPin } from './Dashboard';
import { DATABASE_CHARTS, DATABASE_LARGE } from './declarations/dashboards';
import { FlashCharts, FlashRatios } from './flash/FlashCharts';
import { LatencyHeat } from './LatencyHeat';
import type { EmptyReasons } from './MetricChart';
import { useEventMarks } from './marks';

interface Props {
  bdb: Bdb;
  left: string | undefined;
  right: string | undefined;
  onPin: OnPin;
  reasons: EmptyReasons | undefined;
}

export function DatabaseCharts({ bdb, left, right, onPin, reasons }: Props) {
  const marks = useEventMarks({ bdb: bdb.uid });
  return (
    <>
      <Dashboard
        charts={DATABASE_CHARTS}
        subject={{ topic: 'bdbs', uid: String(bdb.uid) }}
        large={[left ?? DATABASE_LARGE[0], right ?? DATABASE_LARGE[1]]}
        onPin={onPin}
        limits={{ memory_size: bdb.memory_size }}
        reasons={reasons}
        marks={marks}
        between={
          <>
            {bdb.bigstore && <FlashRatios bdb={bdb} marks={marks} />}
            <LatencyHeat target={`bdb=${bdb.uid}`} marks={marks} reason={reasons?.latency} />
          </>
        }
      />
      {bdb.bigstore && <FlashCharts bdb={bdb} marks={marks} />}
    </>
  );
}
