/** What a change of shape will do, before it is saved: in words, and as the console plans it. */
import { Alert } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { checkUpdate, previewRevamp } from '@/api/bdbs';
import { ApiError, messageOf } from '@/api/http';
import { useBdbShards } from '@/api/shards';
import type { Bdb, BlueprintPair, ReshardPreview, UpdateBdb } from '@/api/types';
import { changesShape, changeWords, cutsOff, isTold } from './changeWords';
import classes from './databases.module.css';
import { PlanView } from './PlanView';
import { ReshardCost } from './ReshardCost';

/** Nobody waits for a plan of each digit typed. */
const TYPING_MS = 400;

export interface Preview {
  /** There is something to show. */
  wanted: boolean;
  /** The console has not answered yet. */
  asking: boolean;
  /** Of a change of the number of shards. */
  blueprint: BlueprintPair[] | null;
  /** What that would cost. */
  cost: ReshardPreview | null;
  refused: { field?: string | undefined; text: string } | null;
}

/** Null while the form holds what cannot be sent. */
export function useChangePreview(bdb: Bdb, body: UpdateBdb | null): Preview {
  const wanted = body !== null && changesShape(body);
  const now = wanted ? JSON.stringify(body) : '';
  const [asked] = useDebouncedValue(now, TYPING_MS);
  const { data, error, isFetching } = useQuery({
    queryKey: ['change', bdb.uid, asked],
    queryFn: ({ signal }) => ask(bdb.uid, JSON.parse(asked) as UpdateBdb, signal),
    enabled: asked !== '',
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
  const current = asked === now;
  return {
    wanted,
    asking: wanted && (!current || isFetching),
    blueprint: (current && data?.blueprint) || null,
    cost: (current && data?.cost) || null,
    refused:
      current && error
        ? { field: error instanceof ApiError ? error.field : undefined, text: messageOf(error) }
        : null,
  };
}

async function ask(
  uid: number,
  body: UpdateBdb,
  signal: AbortSignal,
): Promise<Pick<Preview, 'blueprint' | 'cost'>> {
  const cost = (await checkUpdate(uid, body, signal)).reshard_preview ?? null;
  const { shards_count, memory_size } = body;
  if (shards_count === undefined) return { blueprint: null, cost };
  const shape = { shards_count, ...(memory_size === undefined ? {} : { memory_size }) };
  const blueprint = await previewRevamp(uid, shape, signal);
  return { blueprint, cost };
}

interface Props {
  bdb: Bdb;
  body: UpdateBdb;
  preview: Preview;
}

export function ChangePreview({ bdb, body, preview }: Props) {
  const shards = useBdbShards(bdb.uid).data ?? [];
  if (!isTold(body)) return null;
  const { asking, blueprint, cost, refused } = preview;
  return (
    <Alert
      className={`${classes.wide} ${classes.preview}`}
      classNames={{ body: classes.previewBody ?? '' }}
      variant={refused ? 'light' : 'default'}
      color={refused ? 'red' : 'gray'}
      title={refused ? 'This cannot be done now' : 'What saving does'}
      role="status"
    >
      {refused ? (
        refused.text
      ) : (
        <>
          {changeWords(bdb, body).map((line) => (
            <p key={line}>{line}</p>
          ))}
          {asking && <p className="dim">Asking the console…</p>}
          {blueprint && (
            <PlanView shards={shards} blueprint={blueprint} nothing="No shard and no slot moves." />
          )}
          {cost && <ReshardCost cost={cost} />}
          {!asking && !cutsOff(body) && <p>The database goes on serving meanwhile.</p>}
        </>
      )}
    </Alert>
  );
}
