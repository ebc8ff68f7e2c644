/** Entries of the command palette: what it finds, and what selecting an entry does. */
import type { Bdb, Shard } from '@/api/types';
import type { DatabaseDialogName } from '@/features/databases/header/DatabaseDialog';
import type { Zone } from '@/lib/time';

/** Kinds of entries, in the order in which equally good matches are shown. */
export const KINDS = [
  'database',
  'node',
  'action',
  'page',
  'run',
  'incident',
  'shard',
  'event',
] as const;
export type Kind = (typeof KINDS)[number];

/** A dialog of the web UI that an action opens. The dialog asks for confirmation. */
export type PaletteDialogRequest =
  | { name: 'addNode' }
  | { name: 'backUp'; bdb: Bdb }
  | { name: 'database'; dialog: DatabaseDialogName; bdb: Bdb }
  | { name: 'switchOver'; primary: Shard; replica: Shard };

export interface LinkTarget {
  to: string;
  hash?: string;
  params?: Record<string, string>;
  search?: Record<string, string | number | undefined>;
}

export type Target =
  | { link: LinkTarget }
  | { dialog: PaletteDialogRequest }
  | { theme: 'auto' | 'light' | 'dark' }
  | { zone: Zone };

export interface Entry {
  /** Identifies the entry among the recently used ones. */
  id: string;
  kind: Kind;
  name: string;
  detail: string;
  /** Other words that find the entry. */
  keywords?: string;
  /** Whether there is one such entry per shard. A cluster can have hundreds of them. */
  perShard?: boolean;
  /** Whether the entry is shown only if a text is entered or the entry was used recently. */
  needsText?: boolean;
  /** Keyboard shortcut that does the same. */
  keys?: readonly string[];
  target: Target;
}
