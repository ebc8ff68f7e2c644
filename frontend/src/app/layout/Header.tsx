/** Breadcrumb, time range, live switch, search, theme and user. */
import { ActionIcon, NativeSelect, Tooltip } from '@mantine/core';
import { IconHelp, IconSearch, IconZoomReset } from '@tabler/icons-react';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { duration } from '@/lib/time';
import { DEFAULT_RANGE, RANGES, type Range } from '../search';
import { Crumbs } from './Crumbs';
import classes from './Frame.module.css';
import { LiveSwitch } from './LiveSwitch';
import { usePageAxis } from './PageAxis';
import { ThemeSwitch } from './ThemeSwitch';
import { UserMenu } from './UserMenu';

interface Props {
  onSearch: () => void;
  onHelp: () => void;
}

export function Header({ onSearch, onHelp }: Props) {
  return (
    <header className={classes.header}>
      <Crumbs />
      <RangePicker />
      <LiveSwitch />
      <button type="button" className={classes.searchButton} onClick={onSearch} aria-label="Search">
        <IconSearch size={14} aria-hidden />
        <span>Search</span>
        <kbd>/</kbd>
      </button>
      <Tooltip label="Keyboard shortcuts">
        <ActionIcon variant="subtle" color="gray" aria-label="Keyboard shortcuts" onClick={onHelp}>
          <IconHelp size={18} stroke={1.6} />
        </ActionIcon>
      </Tooltip>
      <ThemeSwitch />
      <UserMenu />
    </header>
  );
}

function RangePicker() {
  const { range, from, to } = useSearch({ strict: false });
  const navigate = useNavigate();
  const axis = usePageAxis();
  const choose = (seconds: Range) => {
    const next = { range: seconds === DEFAULT_RANGE ? undefined : seconds };
    void navigate({
      to: '.',
      search: (now) => ({ ...now, ...next, from: undefined, to: undefined }),
    });
  };
  const zoomed = from !== undefined && to !== undefined;
  return (
    <>
      {zoomed && (
        <Tooltip
          label={`Zoomed to ${duration(to - from)}: back to the range (double-click a chart)`}
        >
          <ActionIcon variant="light" aria-label="Reset zoom" onClick={() => axis.reset()}>
            <IconZoomReset size={16} />
          </ActionIcon>
        </Tooltip>
      )}
      <NativeSelect
        size="xs"
        aria-label="Time range"
        value={range ?? DEFAULT_RANGE}
        onChange={(event) => choose(Number(event.currentTarget.value) as Range)}
        data={RANGES.map((seconds) => ({
          value: String(seconds),
          label: `Last ${seconds / 60} min`,
        }))}
      />
    </>
  );
}
