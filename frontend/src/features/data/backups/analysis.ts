/** Rows of the tables about the contents of a backup. Pure. */
import type { BackupAnalysis } from '@/api/types';

type Total = BackupAnalysis['other_prefixes'];

export interface AnalysisRow extends Total {
  name: string;
  /** Of the bytes of the backup, 0 to 1. */
  share: number;
}

export interface AnalysisPart {
  title: string;
  /** Header of the first column. */
  header: string;
  rows: AnalysisRow[];
}

const LIFETIMES: Record<string, string> = {
  none: 'No expiry',
  expired: 'Expired',
  longer: 'More than 30 days',
};

/** Return the tables that have rows. */
export function analysisParts(analysis: BackupAnalysis): AnalysisPart[] {
  const { types, prefixes, other_prefixes: others, lifetimes } = analysis;
  const all = Object.values(types).reduce((sum, { bytes }) => sum + bytes, 0);
  const row = (name: string, { keys, bytes }: Total): AnalysisRow => ({
    name,
    keys,
    bytes,
    share: all ? bytes / all : 0,
  });
  return [
    {
      title: 'Types',
      header: 'Type',
      rows: Object.entries(types).map(([name, total]) => row(name, total)),
    },
    {
      title: 'Prefixes',
      header: 'Prefix',
      rows: [
        ...prefixes.map((each) => row(each.prefix || 'Keys without a colon', each)),
        ...(others.keys ? [row('Other prefixes', others)] : []),
      ],
    },
    {
      title: 'Times to live',
      header: 'Time to live',
      rows: Object.entries(lifetimes).map(([name, total]) =>
        row(LIFETIMES[name] ?? `Up to ${name}`, total),
      ),
    },
  ].filter(({ rows }) => rows.length > 0);
}
