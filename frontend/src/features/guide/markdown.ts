/** Parser of the Markdown that the guide uses: headings, paragraphs, lists, tables, and code. Pure functions. */

export type Block =
  | { kind: 'heading'; level: number; text: string; id: string }
  | { kind: 'paragraph'; text: string }
  | { kind: 'code'; text: string }
  | { kind: 'table'; head: string[]; rows: string[][] }
  | { kind: 'list'; ordered: boolean; items: Block[][] };

export type Inline =
  | { kind: 'text' | 'code'; text: string }
  | { kind: 'strong' | 'emphasis'; content: Inline[] }
  | { kind: 'link'; href: string; content: Inline[] };

const HEADING = /^(#{1,6}) (.+)$/;
const ITEM = /^(\*|-|\d+\.) +/;
const RULE = /^\|[\s:|-]+\|$/;
const FENCE = '```';

/** Return the anchor of a heading as on GitHub. */
export const anchorOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-');

export const parseMarkdown = (text: string): Block[] => blocksOf(text.split('\n'));

function blocksOf(lines: readonly string[]): Block[] {
  const blocks: Block[] = [];
  let at = 0;
  while (at < lines.length) {
    const [block, end] = blockAt(lines, at);
    if (block) blocks.push(block);
    at = end;
  }
  return blocks;
}

/** Return the block that starts at a line, and the line after it. */
function blockAt(lines: readonly string[], at: number): [Block | null, number] {
  const line = lines[at] ?? '';
  if (!line.trim()) return [null, at + 1];
  const heading = HEADING.exec(line);
  if (heading) {
    const [, marks = '', text = ''] = heading;
    return [{ kind: 'heading', level: marks.length, text, id: anchorOf(text) }, at + 1];
  }
  if (line.startsWith(FENCE)) return codeAt(lines, at);
  if (isTable(lines, at)) return tableAt(lines, at);
  if (ITEM.test(line)) return listAt(lines, at);
  const end = endOf(lines, at + 1, (next, index) => !next.trim() || startsBlock(lines, index));
  return [{ kind: 'paragraph', text: joined(lines.slice(at, end)) }, end];
}

const joined = (lines: readonly string[]): string =>
  lines
    .map((line) => line.replace(/^>/, '').trim())
    .filter(Boolean)
    .join(' ');

function endOf(
  lines: readonly string[],
  from: number,
  isEnd: (line: string, index: number) => boolean,
): number {
  const found = lines.findIndex((line, index) => index >= from && isEnd(line, index));
  return found < 0 ? lines.length : found;
}

function startsBlock(lines: readonly string[], at: number): boolean {
  const line = lines[at] ?? '';
  return HEADING.test(line) || line.startsWith(FENCE) || ITEM.test(line) || isTable(lines, at);
}

function codeAt(lines: readonly string[], at: number): [Block, number] {
  const end = endOf(lines, at + 1, (line) => line.startsWith(FENCE));
  return [{ kind: 'code', text: lines.slice(at + 1, end).join('\n') }, end + 1];
}

const isTable = (lines: readonly string[], at: number): boolean =>
  (lines[at] ?? '').startsWith('|') && RULE.test(lines[at + 1] ?? '');

function tableAt(lines: readonly string[], at: number): [Block, number] {
  const end = endOf(lines, at + 2, (line) => !line.startsWith('|'));
  const rows = lines.slice(at + 2, end).map(cellsOf);
  return [{ kind: 'table', head: cellsOf(lines[at] ?? ''), rows }, end];
}

const cellsOf = (line: string): string[] =>
  line
    .replace(/^\||\|\s*$/g, '')
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim().replaceAll('\\|', '|'));

function listAt(lines: readonly string[], at: number): [Block, number] {
  const ordered = /^\d/.test(lines[at] ?? '');
  const items: Block[][] = [];
  let start = at;
  while (start < lines.length && ITEM.test(lines[start] ?? '')) {
    const width = ITEM.exec(lines[start] ?? '')?.[0].length ?? 0;
    // An item continues with indented lines, also after an empty line.
    const end = endOf(lines, start + 1, (line) => line.trim() !== '' && !line.startsWith('  '));
    const content = lines.slice(start, end).map((line) => line.slice(width));
    items.push(blocksOf(content));
    start = end;
  }
  return [{ kind: 'list', ordered, items }, start];
}

const INLINE = /`([^`]+)`|\*\*(.+?)\*\*|\*(?!\s)(.+?)\*|\[((?:[^\]]|\\\])+)\]\(([^)\s]+)\)/;

export function parseInline(text: string): Inline[] {
  const found = INLINE.exec(text);
  if (!found) return text ? [{ kind: 'text', text }] : [];
  const [all, code, strong, emphasis, label, href] = found;
  const before = text.slice(0, found.index);
  const part: Inline =
    code !== undefined
      ? { kind: 'code', text: code }
      : strong !== undefined
        ? { kind: 'strong', content: parseInline(strong) }
        : emphasis !== undefined
          ? { kind: 'emphasis', content: parseInline(emphasis) }
          : { kind: 'link', href: href ?? '', content: parseInline(label ?? '') };
  return [
    ...(before ? [{ kind: 'text', text: before } as const] : []),
    part,
    ...parseInline(text.slice(found.index + all.length)),
  ];
}
