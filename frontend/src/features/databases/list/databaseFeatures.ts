/** Optional features of a database and its tags as text. Pure functions. */
import type { Bdb } from '@/api/types';

export type Feature = 'Flash' | 'Replication' | 'Cluster API' | 'Persistence' | 'TLS';

export function features(bdb: Bdb): Feature[] {
  const found: [Feature, unknown][] = [
    ['Flash', bdb.bigstore],
    ['Replication', bdb.replication],
    ['Cluster API', bdb.oss_cluster],
    ['Persistence', bdb.data_persistence !== 'disabled'],
    ['TLS', bdb.tls_mode === 'enabled'],
  ];
  return found.filter(([, isOn]) => isOn).map(([feature]) => feature);
}

export const tagsText = ({ tags }: Bdb): string =>
  (tags ?? []).map(({ key, value }) => `${key}: ${value}`).join(', ');
