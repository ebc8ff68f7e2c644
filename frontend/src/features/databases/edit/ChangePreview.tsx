/** Preview of an edit before it is saved: its effects as text, the plan of the console and the cost. */
import { Alert } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { checkUpdate, previewReshard } from '@/api/databases/bdbs';
import { useBdbShards } from '@/api/databases/shards';
import { ApiError, messageOf } from '@/api/http';
import type { Bdb, BlueprintPair, ReshardPreview, UpdateBdb } from '@/api/types';
import classes from '../databases.module.css';
import { PlanView } from '../plan/PlanView';
import { changeEffects, changesShards, disconnectsClients, hasEffects } from './changeEffects';
import { ReshardCost } from './ReshardCost';

/** Debounce time, so that not every typed digit requests a plan. */
const DEBOUNCE_MS = 400;

export interface Preview {
  /** Whether the change has a preview. */
  isNeeded: boolean;
  /** Whether the response of the console is pending. */
  isLoading: boolean;
  /** Planned placement, if the number of shards changes. */
  blueprint: BlueprintPair[] | null;
  /** Estimated cost of resharding. */
  cost: ReshardPreview | null;
  rejection: { field?: string | undefined; text: string } | null;
}

/** Request a preview of the change. `body` is null while the form is invalid. */
export function useChangePreview(bdb: Bdb, body: UpdateBdb | null): Preview {
  const isNeeded = body !== null && changesShards(body);
  const now = isNeeded ? JSON.stringify(body) : '';
  const [debounced] = useDebouncedValue(now, DEBOUNCE_MS);
  const { data, error, isFetching } = useQuery({
    queryKey: ['change', bdb.uid, debounced],
    queryFn: ({ signal }) => fetchPreview(bdb.uid, JSON.parse(debounced) as UpdateBdb, signal),
    enabled: debounced !== '',
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const current = debounced === now;
  return {
    isNeeded,
    isLoading: isNeeded && (!current || isFetching),
    blueprint: (current && data?.blueprint) || null,
    cost: (current && data?.cost) || null,
    rejection:
      current && error
        ? { field: error instanceof ApiError ? error.field : undefined, text: messageOf(error) }
        : null,
  };
}

async function fetchPreview(
  uid: number,
  body: UpdateBdb,
  signal: AbortSignal,
): Promise<Pick<Preview, 'blueprint' | 'cost'>> {
  const cost = (await checkUpdate(uid, body, signal)).reshard_preview ?? null;
  const { shards_count, memory_size } = body;
  if (shards_count === undefined) return { blueprint: null, cost };
  const shape = { shards_count, ...(memory_size === undefined ? {} : { memory_size }) };
  const blueprint = await previewReshard(uid, shape, signal);
  return { blueprint, cost };
}

interface Props {
  bdb: Bdb;
  body: UpdateBdb;
  preview: Preview;
}

export function ChangePreview({ bdb, body, preview }: Props) {
  const shards = useBdbShards(bdb.uid).data ?? [];
  if (!hasEffects(body)) return null;
  const { isLoading, blueprint, cost, rejection } = preview;
  return (
    <Alert
      className={`${classes.wide} ${classes.preview}`}
      classNames={{ body: classes.previewBody ?? '' }}
      variant={rejection ? 'light' : 'default'}
      color={rejection ? 'red' : 'gray'}
      title={rejection ? 'This change is not possible now' : 'Effects of this change'}
      role="status"
    >
      {rejection ? (
        rejection.text
      ) : (
        <>
          {changeEffects(bdb, body).map((line) => (
            <p key={line}>{line}</p>
          ))}
          {isLoading && <p className="dim">Requesting the plan…</p>}
          {blueprint && (
            <PlanView shards={shards} blueprint={blueprint} emptyText="No shards or slots move." />
          )}
          {cost && <ReshardCost cost={cost} />}
          {!isLoading && !disconnectsClients(body) && (
            <p>The database continues to serve requests.</p>
          )}
        </>
      )}
    </Alert>
  );
}
