/** Configuration tab. */
import { DatabaseAlerts } from '@/features/alerts/DatabaseAlerts';
import { Configuration } from '@/features/databases/edit/Configuration';
import { useTabBdb } from './page';

export function DatabaseConfigurationTab() {
  const bdb = useTabBdb();
  return bdb && <Configuration bdb={bdb} alerts={<DatabaseAlerts bdb={bdb.uid} />} />;
}
