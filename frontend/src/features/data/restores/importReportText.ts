/** Texts and tones of reports about files before an import. Pure. */
import type { ImportReport, Restore } from '@/api/types';
import { format } from '@/lib/format';
import type { Tone } from '@/ui/Status';

export function forecastStatus(forecast: Restore['forecast']): { tone: Tone; text: string } {
  if (forecast === 'impossible') return { tone: 'broken', text: 'Import not possible' };
  if (forecast === 'losses') return { tone: 'attention', text: 'Import with losses' };
  return { tone: 'ok', text: 'Import possible' };
}

/** Return the needed and the allowed memory: "About 1.2 GiB of 4 GiB". */
export function memoryText({
  needed_bytes: needed,
  memory_limit: limit,
}: Pick<ImportReport, 'needed_bytes' | 'memory_limit'>): string {
  const text = `About ${format('bytes', needed)}`;
  return limit ? `${text} of ${format('bytes', limit)}` : `${text}; the database has no limit`;
}

/** Return the number of keys by type: "hash 3, string 12". */
export const typesText = (types: Record<string, number>): string =>
  Object.entries(types)
    .sort(([one], [other]) => one.localeCompare(other))
    .map(([type, keys]) => `${type} ${format('count', keys)}`)
    .join(', ');
