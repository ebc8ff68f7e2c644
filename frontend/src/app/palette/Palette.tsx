/** Command palette: finds databases, nodes, shards, runs, incidents, events, pages and actions, and opens them. */
import { Modal, TextInput, useMantineColorScheme } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, lazy, Suspense, useEffect, useMemo, useState } from 'react';
import { setZone } from '@/lib/time';
import type { Entry, PaletteDialogRequest } from './entry';
import classes from './Palette.module.css';
import { optionId, RESULTS_ID, type ResultGroup, Results } from './Results';
import { findEntries, suggestEntries } from './rank';
import { addRecent, readRecents } from './recents';
import { useEventEntries, usePaletteEntries } from './usePaletteEntries';

const PaletteDialog = lazy(async () => ({
  default: (await import('./PaletteDialog')).PaletteDialog,
}));

/** Maximum text length that the console accepts in a search of the log. */
const MAX_LENGTH = 200;

export function Palette({ onClose }: { onClose: () => void }) {
  const [dialog, setDialog] = useState<PaletteDialogRequest | null>(null);
  const open = useOpen(onClose, setDialog);
  useFocusReturn();
  if (dialog)
    return (
      <Suspense fallback={null}>
        <PaletteDialog request={dialog} onClose={onClose} />
      </Suspense>
    );
  return <PaletteSearch onOpen={open} onClose={onClose} />;
}

/** Return the focus to the element that had it before. The dialogs do this only if they stay mounted. */
function useFocusReturn() {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      if (before instanceof HTMLElement) before.focus();
    },
    [before],
  );
}

/** Return a function that opens an entry and remembers it. */
function useOpen(onClose: () => void, onDialog: (dialog: PaletteDialogRequest) => void) {
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  return ({ id, kind, target }: Entry) => {
    if (kind !== 'event') addRecent(id);
    if ('dialog' in target) {
      onDialog(target.dialog);
      return;
    }
    onClose();
    if ('theme' in target) setColorScheme(target.theme);
    else if ('zone' in target) setZone(target.zone);
    else void navigate(target.link);
  };
}

interface SearchProps {
  onOpen: (entry: Entry) => void;
  onClose: () => void;
}

function PaletteSearch({ onOpen, onClose }: SearchProps) {
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const { groups, isPending } = useGroups(text.trim().slice(0, MAX_LENGTH));
  const shown = groups.flatMap(({ entries }) => entries);
  const count = shown.length;
  const current = shown[Math.min(active, count - 1)];

  const onKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Enter') current && onOpen(current);
    else if (event.key === 'ArrowDown') setActive(count ? (active + 1) % count : 0);
    else if (event.key === 'ArrowUp') setActive(count ? (active + count - 1) % count : 0);
    else return;
    event.preventDefault();
  };

  return (
    <Modal.Root opened onClose={onClose} yOffset="12vh" size={560}>
      <Modal.Overlay />
      <Modal.Content aria-label="Search">
        <Modal.Body>
          <TextInput
            data-autofocus
            role="combobox"
            aria-label="Search objects, pages, and actions"
            aria-expanded
            aria-autocomplete="list"
            aria-controls={RESULTS_ID}
            aria-activedescendant={current && optionId(current)}
            placeholder="Find an object or page, or enter an action such as “stop traffic”"
            leftSection={<IconSearch size={15} />}
            value={text}
            onChange={(event) => {
              setText(event.currentTarget.value);
              setActive(0);
            }}
            onKeyDown={onKey}
          />
          <Results
            groups={groups}
            current={current}
            onHover={(entry) => setActive(shown.indexOf(entry))}
            onOpen={onOpen}
          />
          {count === 0 && !isPending && <p className="dim">No matches</p>}
          <p className={classes.hints} aria-hidden>
            <kbd>↑</kbd> <kbd>↓</kbd> select · <kbd>Enter</kbd> open · <kbd>Esc</kbd> close
          </p>
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}

/** Return the entries to show for a text. */
function useGroups(text: string): { groups: ResultGroup[]; isPending: boolean } {
  const entries = usePaletteEntries();
  const { events, isPending } = useEventEntries(text);
  const [recentIds] = useState(readRecents);
  const groups = useMemo(() => {
    const { recent, others } = suggestEntries(entries, recentIds);
    const all = text
      ? [{ title: 'Matches', entries: [...findEntries(text, entries), ...events] }]
      : [
          { title: 'Recently used', entries: recent },
          { title: 'Suggestions', entries: others },
        ];
    return all.filter((group) => group.entries.length > 0);
  }, [text, entries, events, recentIds]);
  return { groups, isPending };
}
