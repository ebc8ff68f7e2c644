/** Which databases and columns a list shows. Pure. */
import type { Bdb } from '@/api/types';
import { features, tagsText } from './columns';
import { bdbState, endpointOf } from './status';

/** Those that have every word somewhere: in the name, number, state, endpoint, features or tags. */
export function narrowed(bdbs: readonly Bdb[], text: string): Bdb[] {
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

/** The chosen ones that still exist. */
export const present = (chosen: ReadonlySet<number>, bdbs: readonly Bdb[]): Bdb[] =>
  bdbs.filter(({ uid }) => chosen.has(uid));
