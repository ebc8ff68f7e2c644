/** Endpoint tab: addresses, proxies, and endpoint metrics. */
import { EndpointView } from '@/features/endpoint/EndpointView';
import { EndpointCharts } from '@/features/metrics/EndpointCharts';
import { useLatencyReason } from '../../useLatencyReason';
import { useTabBdb } from './page';

export function DatabaseEndpointTab() {
  const bdb = useTabBdb();
  const reasons = useLatencyReason(bdb?.uid);
  if (!bdb) return null;
  return (
    <EndpointView
      bdb={bdb}
      charts={({ uid, proxies }) => (
        <EndpointCharts
          bdb={bdb.uid}
          endpoint={uid}
          nodes={proxies.map(({ uid: node }) => node)}
          reasons={reasons}
        />
      )}
    />
  );
}
