/** Filter and selection of the list of databases. Pure functions. */
import type { Bdb } from '@/api/types';
import { bdbState, endpointOf } from '../status';
import { features, tagsText } from './databaseFeatures';

/** Return the databases that contain every word of the text in their name, uid, state, endpoint, features or tags. */
export function filterDatabases(bdbs: readonly Bdb[], text: string): Bdb[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  return bdbs.filter((bdb) => {
    const all = textOf(bdb);
    return words.every((word) => all.includes(word));
  });
}

function textOf(bdb: Bdb): string {
  const endpoint = endpointOf(bdb);
  const parts = [bdb.name, bdb.uid, bdbState(bdb).text, tagsText(bdb), ...features(bdb)];
  if (endpoint) parts.push(`${endpoint.host}:${endpoint.port}`);
  return parts.join(' ').toLowerCase();
}

/** Return the selected databases that still exist. */
export const selectedDatabases = (selected: ReadonlySet<number>, bdbs: readonly Bdb[]): Bdb[] =>
  bdbs.filter(({ uid }) => selected.has(uid));
