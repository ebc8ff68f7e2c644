/** Groups of the Settings page, and the search in them. Pure. */
import type { ReactNode } from 'react';
import { type PolicyGroup, SECTIONS, type Section } from './policies';

/** Part of a group that is not a setting of the cluster, for example a table with its dialogs. */
export interface Block {
  title: string;
  /** Other words that find the block. */
  words: string;
  content: ReactNode;
}

export interface SettingsGroup {
  /** Fragment of the address (`/settings#retention`). */
  id: string;
  title: string;
  /** Group of cluster settings that are shown before the blocks. */
  policy?: PolicyGroup;
  blocks?: readonly Block[];
}

export interface FoundGroup {
  id: string;
  title: string;
  sections: readonly Section[];
  blocks: readonly Block[];
}

/**
 * Return the groups with the settings and blocks that contain all words. A group or card whose title contains them is shown
 * completely. Groups without content are omitted.
 */
export function findSettings(groups: readonly SettingsGroup[], text: string): FoundGroup[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (...texts: readonly string[]) => {
    const haystack = texts.join(' ').toLowerCase();
    return words.every((word) => haystack.includes(word));
  };
  return groups
    .map(({ id, title, policy, blocks = [] }): FoundGroup => {
      const sections = SECTIONS.filter(({ group }) => group === policy);
      if (matches(title)) return { id, title, sections, blocks };
      return {
        id,
        title,
        sections: sections
          .map((section) => ({
            ...section,
            rules: section.rules.filter(({ name, label, help }) =>
              matches(title, section.title, label, help, name),
            ),
          }))
          .filter(({ rules }) => rules.length),
        blocks: blocks.filter((block) => matches(title, block.title, block.words)),
      };
    })
    .filter(({ sections, blocks }) => sections.length || blocks.length);
}
