/** Text of a page of the guide. */
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import classes from './guide.module.css';
import { type Block, type Inline, parseInline } from './markdown';

interface Props {
  page: string;
  blocks: readonly Block[];
  /** Id of the section to highlight. */
  target: string;
}

export function GuideText({ page, blocks, target }: Props) {
  return (
    <article className={classes.text}>
      {blocks.map((block, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the text does not change
        <BlockText key={index} block={block} page={page} target={target} />
      ))}
    </article>
  );
}

function BlockText({ block, page, target }: { block: Block; page: string; target: string }) {
  const inline = (text: string) => <InlineText parts={parseInline(text)} page={page} />;
  switch (block.kind) {
    case 'heading': {
      const Heading = `h${Math.min(block.level, 4)}` as 'h1' | 'h2' | 'h3' | 'h4';
      return <Heading id={block.id}>{inline(block.text)}</Heading>;
    }
    case 'paragraph':
      return <p>{inline(block.text)}</p>;
    case 'code':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the text can be scrolled with the keyboard
        <pre tabIndex={0}>
          <code>{block.text}</code>
        </pre>
      );
    case 'list': {
      const List = block.ordered ? 'ol' : 'ul';
      return (
        <List>
          {block.items.map((item, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the text does not change
            <li key={index}>
              {item.map((part, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: the text does not change
                <BlockText key={at} block={part} page={page} target={target} />
              ))}
            </li>
          ))}
        </List>
      );
    }
    case 'table':
      return (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the region can be scrolled with the keyboard
        <section className={classes.scroll} tabIndex={0} aria-label="Table">
          <table>
            <thead>
              <tr>
                {block.head.map((cell) => (
                  <th key={cell} scope="col">
                    {inline(cell)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((cells) => {
                const ids = idsOf(cells);
                return (
                  <tr key={cells.join('|')} data-target={ids.includes(target) || undefined}>
                    {cells.map((cell, index) => (
                      // biome-ignore lint/suspicious/noArrayIndexKey: the text does not change
                      <td key={index}>
                        {index === 0 && ids.map((id) => <span key={id} id={id} />)}
                        {inline(cell)}
                      </td>
                    ))}
                  </tr>
                );
              })}
            </tbody>
          </table>
        </section>
      );
  }
}

/** Return the types of alarms in the first cell of a row, which are its anchors. */
const idsOf = ([first = '']: readonly string[]): string[] =>
  [...first.matchAll(/`(alarm_\w+)`/g)].map(([, name = '']) => name);

function InlineText({ parts, page }: { parts: readonly Inline[]; page: string }): ReactNode {
  return parts.map((part, index) => {
    // biome-ignore lint/suspicious/noArrayIndexKey: the text does not change
    return <InlinePart key={index} part={part} page={page} />;
  });
}

function InlinePart({ part, page }: { part: Inline; page: string }): ReactNode {
  switch (part.kind) {
    case 'text':
      return part.text;
    case 'code':
      return <code>{part.text}</code>;
    case 'strong':
      return (
        <strong>
          <InlineText parts={part.content} page={page} />
        </strong>
      );
    case 'emphasis':
      return (
        <em>
          <InlineText parts={part.content} page={page} />
        </em>
      );
    case 'link':
      return <GuideLink href={part.href} page={page} content={part.content} />;
  }
}

function GuideLink({ href, page, content }: { href: string; page: string; content: Inline[] }) {
  const text = <InlineText parts={content} page={page} />;
  if (/^https?:/.test(href))
    return (
      <a href={href} target="_blank" rel="noreferrer">
        {text}
      </a>
    );
  const [, name = page, hash = ''] = /^(?:(\w[\w-]*)\.md)?(?:#(.+))?$/.exec(href) ?? [];
  // Other documents are not part of the web UI.
  if (href.includes('/')) return text;
  return (
    <Link to="/guide/$page" params={{ page: name }} hash={hash}>
      {text}
    </Link>
  );
}
