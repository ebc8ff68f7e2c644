import { describe, expect, it } from 'vitest';
import { anchorOf, parseInline, parseMarkdown } from './markdown';

const pages = import.meta.glob<string>('../../../../docs/guide/*.md', {
  query: '?raw',
  import: 'default',
  eager: true,
});

describe('parseMarkdown', () => {
  it('separates headings, paragraphs, lists, tables, and code', () => {
    const text = [
      '# Alarms and notifications',
      'First line',
      'second line.',
      '* one',
      '  continued',
      '* two',
      '',
      '| Type | Do |',
      '|---|:-:|',
      '| `a` | x \\| y |',
      '```bash',
      '# no heading',
      '```',
    ].join('\n');
    expect(parseMarkdown(text)).toEqual([
      {
        kind: 'heading',
        level: 1,
        text: 'Alarms and notifications',
        id: 'alarms-and-notifications',
      },
      { kind: 'paragraph', text: 'First line second line.' },
      {
        kind: 'list',
        ordered: false,
        items: [
          [{ kind: 'paragraph', text: 'one continued' }],
          [{ kind: 'paragraph', text: 'two' }],
        ],
      },
      { kind: 'table', head: ['Type', 'Do'], rows: [['`a`', 'x | y']] },
      { kind: 'code', text: '# no heading' },
    ]);
  });

  it('finds blocks inside list items', () => {
    const [list] = parseMarkdown('1. Run:\n\n   ```\n   make\n   ```\n2. Wait.');
    expect(list).toMatchObject({ kind: 'list', ordered: true });
    expect(list?.kind === 'list' && list.items[0]?.[1]).toEqual({ kind: 'code', text: 'make' });
    expect(list?.kind === 'list' && list.items).toHaveLength(2);
  });

  it('parses code, links and emphasis in text', () => {
    expect(parseInline('See **[A `b`](c.md#d)**, `*e*`.')).toEqual([
      { kind: 'text', text: 'See ' },
      {
        kind: 'strong',
        content: [
          {
            kind: 'link',
            href: 'c.md#d',
            content: [
              { kind: 'text', text: 'A ' },
              { kind: 'code', text: 'b' },
            ],
          },
        ],
      },
      { kind: 'text', text: ', ' },
      { kind: 'code', text: '*e*' },
      { kind: 'text', text: '.' },
    ]);
  });
});

describe('the guide', () => {
  const anchors = new Map(
    Object.entries(pages).map(([path, text]) => [
      path.split('/').at(-1),
      new Set(parseMarkdown(text).flatMap((block) => (block.kind === 'heading' ? block.id : []))),
    ]),
  );

  it('links only to sections that exist', () => {
    const broken = Object.entries(pages).flatMap(([path, text]) =>
      [...text.matchAll(/\]\((\w[\w-]*\.md)?#([^)]+)\)/g)].flatMap(
        ([, page = path.split('/').at(-1), id = '']) =>
          anchors.get(page)?.has(id) ? [] : [`${path}: ${page}#${id}`],
      ),
    );
    expect(broken).toEqual([]);
    expect(anchorOf('A shard, or a node: is `down`')).toBe('a-shard-or-a-node-is-down');
  });
});
