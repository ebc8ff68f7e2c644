/** Search dialog for databases, nodes and shards by name, and for events by text. */
import { Modal, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconDatabase, IconList, IconSearch, IconServer2, IconStack2 } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type KeyboardEvent, useMemo, useState } from 'react';
import { usePermission } from '@/api/access/session';
import { eventSearchQuery } from '@/api/alerting/events';
import { nodesQuery } from '@/api/cluster/nodes';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { shardsQuery } from '@/api/databases/shards';
import { useZone } from '@/ui/useZone';
import classes from './Frame.module.css';
import { eventHits, findHits, type Hit } from './searchHits';

const ICONS = {
  database: IconDatabase,
  node: IconServer2,
  shard: IconStack2,
  event: IconList,
} as const;
/** Minimum text length for a search of the log, delay after the last key in milliseconds, and maximum number of events. */
const [MIN_LENGTH, DEBOUNCE_MS, MAX_EVENTS] = [3, 250, 5];
/** Maximum text length that the console accepts. */
const MAX_LENGTH = 200;

export function Search({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const { data: bdbs } = useQuery(shownBdbsQuery);
  const { data: nodes } = useQuery(nodesQuery);
  const { data: shards } = useQuery(shardsQuery);
  const [text, setText] = useState('');
  const [active, setActive] = useState(0);
  const query = text.trim().slice(0, MAX_LENGTH);
  const [debounced] = useDebouncedValue(query, DEBOUNCE_MS);
  const searchesLog = usePermission('readLog') && query.length >= MIN_LENGTH;
  const { data: events, isFetching } = useQuery({
    ...eventSearchQuery(debounced, MAX_EVENTS),
    enabled: searchesLog && debounced === query,
  });
  const pending = searchesLog && (isFetching || debounced !== query);
  const zone = useZone();
  const hits = useMemo(
    () => [
      ...findHits(text, bdbs ?? [], nodes ?? [], shards ?? []),
      ...(searchesLog && debounced === query ? eventHits(debounced, events ?? [], zone) : []),
    ],
    [text, bdbs, nodes, shards, searchesLog, debounced, query, events, zone],
  );

  const open = (hit: Hit | undefined) => {
    if (!hit) return;
    onClose();
    void navigate(hit.link);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter') open(hits[active]);
    else if (event.key === 'ArrowDown') setActive(Math.min(active + 1, hits.length - 1));
    else if (event.key === 'ArrowUp') setActive(Math.max(active - 1, 0));
    else return;
    event.preventDefault();
  };

  return (
    <Modal.Root opened onClose={onClose} yOffset="12vh">
      <Modal.Overlay />
      <Modal.Content aria-label="Search">
        <Modal.Body>
          <TextInput
            data-autofocus
            role="combobox"
            aria-label="Search databases, nodes, shards, and events"
            aria-expanded
            aria-controls="search-results"
            aria-activedescendant={hits[active] ? `hit-${active}` : undefined}
            placeholder="Database, node, shard, or event text"
            leftSection={<IconSearch size={15} />}
            value={text}
            onChange={(event) => {
              setText(event.currentTarget.value);
              setActive(0);
            }}
            onKeyDown={onKey}
          />
          <div id="search-results" role="listbox" aria-label="Results" className={classes.results}>
            {hits.map((hit, index) => {
              const Icon = ICONS[hit.kind];
              return (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the input above handles the keys
                // biome-ignore lint/a11y/useFocusableInteractive: focus stays in the input
                <div
                  key={hit.id}
                  id={`hit-${index}`}
                  role="option"
                  aria-selected={index === active}
                  className={classes.result}
                  onMouseEnter={() => setActive(index)}
                  onClick={() => open(hit)}
                >
                  <Icon size={16} aria-hidden />
                  <span>{hit.name}</span>
                  <span>{hit.detail}</span>
                </div>
              );
            })}
          </div>
          {hits.length === 0 && !pending && <p className="dim">No matches</p>}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
