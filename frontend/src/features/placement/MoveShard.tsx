/** Dialog that moves a shard to another node. The console checks for each node whether it can take the shard. */
import { Button, Radio, Stack } from '@mantine/core';
import { IconArrowRight } from '@tabler/icons-react';
import { useQueries, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { nodesQuery } from '@/api/cluster/nodes';
import { isPrimary, migrateShard, previewMigration } from '@/api/databases/shards';
import { messageOf } from '@/api/http';
import type { Shard } from '@/api/types';
import { format, plural } from '@/lib/format';
import { AddressNotice } from '@/ui/forms/AddressNotice';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';

export function MoveShard({ shard }: { shard: Shard }) {
  const [open, setOpen] = useState(false);
  const may = usePermission('edit');
  return (
    <>
      <Button
        variant="default"
        leftSection={<IconArrowRight size={14} />}
        disabled={!may}
        title={may ? undefined : ROLE_DENIED_TEXT}
        onClick={() => setOpen(true)}
      >
        Move to another node…
      </Button>
      {open && <MoveDialog shard={shard} onClose={() => setOpen(false)} />}
    </>
  );
}

function MoveDialog({ shard, onClose }: { shard: Shard; onClose: () => void }) {
  const [target, setTarget] = useState<string | null>(null);
  const { data } = useQuery(nodesQuery);
  const others = (data ?? []).filter(({ uid }) => String(uid) !== shard.node_uid);
  const checks = useQueries({
    queries: others.map(({ uid }) => ({
      queryKey: ['migrate', shard.uid, uid],
      queryFn: ({ signal }: { signal: AbortSignal }) => previewMigration(shard.uid, uid, signal),
      // Results are not cached, because a move that was possible can become impossible.
      gcTime: 0,
      retry: false,
    })),
  });
  const chosen = checks[others.findIndex(({ uid }) => String(uid) === target)]?.data;
  return (
    <SubmitDialog
      title={`Move redis:${shard.uid} to another node`}
      action="Move"
      disabled={target === null}
      onConfirm={() => migrateShard(shard.uid, Number(target))}
      onClose={onClose}
    >
      <span>
        The data is copied to the target node while the shard continues to serve requests. Then{' '}
        {isPrimary(shard) ? 'the copy becomes the primary and ' : ''}the shard is removed from node{' '}
        {shard.node_uid}. The copy gets a new uid.
      </span>
      {others.length ? (
        <Radio.Group label="Target node" value={target} onChange={setTarget}>
          <Stack gap="xs" mt={6}>
            {others.map((node, index) => {
              const { isSuccess, error } = checks[index] ?? {};
              const usage = `${plural(node.shard_count ?? 0, 'shard')}, ${format('bytes', node.total_memory)} of memory`;
              return (
                <Radio
                  key={node.uid}
                  value={String(node.uid)}
                  label={`Node ${node.uid} (${node.addr})`}
                  description={error ? messageOf(error) : isSuccess ? usage : 'Checking…'}
                  disabled={!isSuccess}
                />
              );
            })}
          </Stack>
        </Radio.Group>
      ) : (
        <span>The cluster has no other node. Add a node first.</span>
      )}
      <AddressNotice changes={chosen?.address_changes} />
    </SubmitDialog>
  );
}
