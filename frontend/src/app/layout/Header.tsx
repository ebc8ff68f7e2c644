/** Breadcrumb, time range, live switch, search, theme and user. */
import { ActionIcon, Tooltip } from '@mantine/core';
import { IconHelp, IconSearch } from '@tabler/icons-react';
import { Breadcrumbs } from './Breadcrumbs';
import classes from './Frame.module.css';
import { LiveSwitch } from './LiveSwitch';
import { useHasTimeAxis } from './PageAxis';
import { RangePicker } from './RangePicker';
import { ThemeSwitch } from './ThemeSwitch';
import { UserMenu } from './UserMenu';

interface Props {
  onSearch: () => void;
  onHelp: () => void;
}

export function Header({ onSearch, onHelp }: Props) {
  const hasTimeAxis = useHasTimeAxis();
  return (
    <header className={classes.header}>
      <Breadcrumbs />
      {hasTimeAxis && <RangePicker />}
      {hasTimeAxis && <LiveSwitch />}
      <button type="button" className={classes.searchButton} onClick={onSearch} aria-label="Search">
        <IconSearch size={14} aria-hidden />
        <span>Search</span>
        <kbd>/</kbd>
      </button>
      <Tooltip label="Keyboard shortcuts">
        <ActionIcon
          variant="subtle"
          color="gray"
          className={classes.help ?? ''}
          aria-label="Keyboard shortcuts"
          onClick={onHelp}
        >
          <IconHelp size={18} stroke={1.6} />
        </ActionIcon>
      </Tooltip>
      <ThemeSwitch />
      <UserMenu />
    </header>
  );
}
