/** Choice and order of the entries that the command palette shows. Pure. */
import { type Entry, KINDS } from './entry';

/** Maximum number of entries. */
export const MAX_ENTRIES = 30;
/** Maximum number of entries per shard before entries of other kinds. */
export const MAX_SHARDS_FIRST = 3;
/** Maximum number of suggested databases, and of nodes, so that actions and pages follow soon. */
export const MAX_SUGGESTED = 5;

/** Words without meaning for the search, as in "stop traffic of demo". */
const FILLERS = new Set(['a', 'an', 'for', 'in', 'of', 'on', 'the', 'to']);
const SEPARATORS = /[\s·,;…“”()]+/;

const wordsOf = (text: string): string[] => text.toLowerCase().split(SEPARATORS).filter(Boolean);

/** Return the entries that contain all words of the text, best matches first. */
export function findEntries(text: string, entries: readonly Entry[]): Entry[] {
  const typed = text.trim().toLowerCase().replace(/\s+/g, ' ');
  const all = wordsOf(typed);
  const meaningful = all.filter((word) => !FILLERS.has(word));
  const words = meaningful.length ? meaningful : all;
  if (!words.length) return [];
  const found = entries
    .map((entry) => ({ entry, rank: rankOf(entry, typed, words) }))
    .filter(({ rank }) => rank !== undefined)
    .sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0) || orderOf(a.entry) - orderOf(b.entry))
    .map(({ entry }) => entry);
  return withFewShardsFirst(found).slice(0, MAX_ENTRIES);
}

/** Return the entries to show without a text: those used recently, and the other suggestions. */
export function suggestEntries(
  entries: readonly Entry[],
  recentIds: readonly string[],
): { recent: Entry[]; others: Entry[] } {
  const byId = new Map(entries.map((entry) => [entry.id, entry]));
  const recent = recentIds.flatMap((id) => byId.get(id) ?? []);
  const counts = new Map<string, number>();
  const isAmongFirst = ({ kind }: Entry): boolean => {
    const count = (counts.get(kind) ?? 0) + 1;
    counts.set(kind, count);
    return count <= MAX_SUGGESTED || (kind !== 'database' && kind !== 'node');
  };
  const others = entries
    .filter((entry) => !entry.needsText && !recent.includes(entry) && isAmongFirst(entry))
    .slice(0, MAX_ENTRIES - recent.length);
  return { recent, others };
}

const orderOf = ({ kind }: Entry): number => KINDS.indexOf(kind);

/**
 * Return the rank of an entry, lower is better: the exact name, a name that starts with the text, and
 * then by how well the words match. Undefined if a word is missing.
 */
function rankOf(entry: Entry, typed: string, words: readonly string[]): number | undefined {
  const name = entry.name.toLowerCase();
  const other = `${entry.detail} ${entry.keywords ?? ''}`.toLowerCase();
  const nameWords = wordsOf(name);
  const otherWords = wordsOf(other);
  let sum = 0;
  for (const word of words) {
    const rank = wordRank(word, { name, nameWords, other, otherWords });
    if (rank === undefined) return undefined;
    sum += rank;
  }
  if (name === typed) return 0;
  return name.startsWith(typed) ? 1 : 2 + sum / words.length;
}

interface Texts {
  name: string;
  nameWords: readonly string[];
  other: string;
  otherWords: readonly string[];
}

function wordRank(word: string, texts: Texts): number | undefined {
  const { name, nameWords, other, otherWords } = texts;
  if (nameWords.includes(word)) return 0;
  if (otherWords.includes(word)) return 1;
  if (nameWords.some((each) => each.startsWith(word))) return 1;
  if (otherWords.some((each) => each.startsWith(word))) return 2;
  return name.includes(word) || other.includes(word) ? 3 : undefined;
}

/** Move all but the first entries per shard behind the entries of other kinds. */
function withFewShardsFirst(entries: readonly Entry[]): Entry[] {
  const shards = entries.filter(({ perShard }) => perShard);
  const later = new Set(shards.slice(MAX_SHARDS_FIRST));
  return [...entries.filter((entry) => !later.has(entry)), ...later];
}
