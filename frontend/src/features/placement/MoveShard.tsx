/** Moves a shard to another node; the console says of each node whether it can take it, before anything is ordered. */
import { Button, Radio, Stack } from '@mantine/core';
import { IconArrowRight } from '@tabler/icons-react';
import { useQueries, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { messageOf } from '@/api/http';
import { nodesQuery } from '@/api/nodes';
import { ROLE_FORBIDS, useMay } from '@/api/session';
import { isPrimary, migrateShard, previewMigration } from '@/api/shards';
import type { Shard } from '@/api/types';
import { format, plural } from '@/lib/format';
import { AddressNotice } from '@/ui/AddressNotice';
import { Ask } from '@/ui/Ask';

export function MoveShard({ shard }: { shard: Shard }) {
  const [open, setOpen] = useState(false);
  const may = useMay('edit');
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconArrowRight size={14} />}
        disabled={!may}
        title={may ? undefined : ROLE_FORBIDS}
        onClick={() => setOpen(true)}
      >
        Move to another node…
      </Button>
      {open && <Question shard={shard} onClose={() => setOpen(false)} />}
    </>
  );
}

function Question({ shard, onClose }: { shard: Shard; onClose: () => void }) {
  const [target, setTarget] = useState<string | null>(null);
  const { data } = useQuery(nodesQuery);
  const others = (data ?? []).filter(({ uid }) => String(uid) !== shard.node_uid);
  const checks = useQueries({
    queries: others.map(({ uid }) => ({
      queryKey: ['migrate', shard.uid, uid],
      queryFn: ({ signal }: { signal: AbortSignal }) => previewMigration(shard.uid, uid, signal),
      // What was possible a moment ago may not be any more.
      gcTime: 0,
      retry: false,
    })),
  });
  const chosen = checks[others.findIndex(({ uid }) => String(uid) === target)]?.data;
  return (
    <Ask
      title={`Move redis:${shard.uid} to another node`}
      action="Move"
      disabled={target === null}
      onConfirm={() => migrateShard(shard.uid, Number(target))}
      onClose={onClose}
    >
      <span>
        Its data is copied there while it goes on serving
        {isPrimary(shard) ? ', then the copy takes over as primary' : ''}, and it is removed from
        node {shard.node_uid}. The copy gets a number of its own.
      </span>
      {others.length ? (
        <Radio.Group label="To" value={target} onChange={setTarget}>
          <Stack gap="xs" mt={6}>
            {others.map((node, index) => {
              const { isSuccess, error } = checks[index] ?? {};
              const held = `${plural(node.shard_count ?? 0, 'shard')}, ${format('bytes', node.total_memory)} of memory`;
              return (
                <Radio
                  key={node.uid}
                  value={String(node.uid)}
                  label={`Node ${node.uid} (${node.addr})`}
                  description={error ? messageOf(error) : isSuccess ? held : 'Asking…'}
                  disabled={!isSuccess}
                />
              );
            })}
          </Stack>
        </Radio.Group>
      ) : (
        <span>There is no other node. Add one first.</span>
      )}
      <AddressNotice changes={chosen?.address_changes} />
    </Ask>
  );
}
