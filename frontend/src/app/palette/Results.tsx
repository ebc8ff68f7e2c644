/** List of the entries that the command palette has found, in titled groups. The focus stays in the text field. */
import {
  IconAlertTriangle,
  IconBolt,
  IconDatabase,
  IconFileText,
  IconGauge,
  IconList,
  IconServer2,
  IconStack2,
} from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import type { Entry } from './entry';
import classes from './Palette.module.css';

const ICONS = {
  database: IconDatabase,
  node: IconServer2,
  action: IconBolt,
  page: IconFileText,
  run: IconGauge,
  incident: IconAlertTriangle,
  shard: IconStack2,
  event: IconList,
} as const;

export const RESULTS_ID = 'palette-results';
export const optionId = ({ id }: Entry): string => `palette-${id}`;

export interface ResultGroup {
  title: string;
  entries: readonly Entry[];
}

interface Props {
  groups: readonly ResultGroup[];
  current: Entry | undefined;
  onHover: (entry: Entry) => void;
  onOpen: (entry: Entry) => void;
}

export function Results({ groups, current, onHover, onOpen }: Props) {
  const list = useRef<HTMLDivElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the selected entry has moved
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView?.({ block: 'nearest' });
  }, [current]);
  return (
    <div ref={list} id={RESULTS_ID} role="listbox" aria-label="Results" className={classes.results}>
      {groups.map(({ title, entries }) => (
        // biome-ignore lint/a11y/useSemanticElements: groups of options have no HTML element
        <div key={title} role="group" aria-label={title}>
          {groups.length > 1 && (
            <div className={classes.group} aria-hidden>
              {title}
            </div>
          )}
          {entries.map((entry) => (
            <Option
              key={entry.id}
              entry={entry}
              isActive={entry === current}
              onHover={() => onHover(entry)}
              onOpen={() => onOpen(entry)}
            />
          ))}
        </div>
      ))}
    </div>
  );
}

interface OptionProps {
  entry: Entry;
  isActive: boolean;
  onHover: () => void;
  onOpen: () => void;
}

function Option({ entry, isActive, onHover, onOpen }: OptionProps) {
  const { kind, name, detail, keys } = entry;
  const Icon = ICONS[kind];
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the text field handles the keys
    // biome-ignore lint/a11y/useFocusableInteractive: the focus stays in the text field
    <div
      id={optionId(entry)}
      role="option"
      aria-selected={isActive}
      className={classes.result}
      onMouseMove={isActive ? undefined : onHover}
      onClick={onOpen}
    >
      <Icon size={16} aria-hidden />
      <span className={classes.name}>{name}</span>
      <span className={classes.detail}>{detail}</span>
      {keys?.map((key) => (
        <kbd key={key} aria-hidden>
          {key}
        </kbd>
      ))}
    </div>
  );
}
