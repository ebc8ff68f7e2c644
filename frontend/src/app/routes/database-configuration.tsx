/** Configuration tab. */
import { DatabaseAlerts } from '@/features/alerts/DatabaseAlerts';
import { Configuration } from '@/features/databases/Configuration';
import { useTabBdb } from './database';

export function DatabaseConfigurationTab() {
  const bdb = useTabBdb();
  return bdb && <Configuration bdb={bdb} alerts={<DatabaseAlerts bdb={bdb.uid} />} />;
}
