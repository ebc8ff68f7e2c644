/** Groups of the Settings page with a search field and, on wide screens, a list of the groups. */
import { Button, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { EmptyState } from '@/ui/EmptyState';
import { PolicyEditor, PolicySection } from './PolicyEditor';
import classes from './settings.module.css';
import { findSettings, type SettingsGroup } from './settingsSearch';
import { useAnchor, useVisibleGroup } from './useAnchor';

interface Props {
  groups: readonly SettingsGroup[];
  /** Fragment of the address: the group to show. */
  anchor: string;
  /** Whether the user may change cluster settings. */
  may: boolean;
}

export function SettingsGroups({ groups, anchor, may }: Props) {
  const [text, setText] = useState('');
  const found = findSettings(groups, text);
  const ids = found.map(({ id }) => id);
  useAnchor(anchor);
  const visible = useVisibleGroup(ids);
  return (
    <div className={classes.page}>
      <div className={classes.side}>
        <TextInput
          type="search"
          aria-label="Search settings"
          placeholder="Search settings"
          leftSection={<IconSearch size={14} />}
          maxLength={100}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        <nav className={classes.list} aria-label="Groups of settings">
          {found.map(({ id, title }) => (
            <a
              key={id}
              href={`#${id}`}
              data-visible={id === visible || undefined}
              aria-current={id === visible ? 'location' : undefined}
            >
              {title}
            </a>
          ))}
        </nav>
      </div>
      <div className={classes.groupList}>
        <PolicyEditor may={may}>
          {found.map(({ id, title, sections, blocks }) => (
            <section
              key={id}
              id={id}
              className={classes.settingsGroup}
              aria-labelledby={`${id}-title`}
            >
              <h2 id={`${id}-title`}>{title}</h2>
              {sections.map((section) => (
                <PolicySection key={section.title} {...section} />
              ))}
              {blocks.map((block) => (
                <div key={block.title}>{block.content}</div>
              ))}
            </section>
          ))}
          {!found.length && (
            <EmptyState title="No matching settings">
              <span>No group or setting contains “{text.trim()}”.</span>
              <Button variant="default" onClick={() => setText('')}>
                Show all settings
              </Button>
            </EmptyState>
          )}
        </PolicyEditor>
      </div>
    </div>
  );
}
