/** How many threads the proxy of a node has. It serves all databases of that node. */
import { Alert, Button, Group, Loader, Modal, NumberInput, Stack } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { proxiesQuery, updateProxy } from '@/api/endpoints';
import { messageOf } from '@/api/http';
import { useNode } from '@/api/nodes';
import type { NodeProxy } from '@/api/types';
import { plural } from '@/lib/format';

interface Props {
  node: number;
  onClose: () => void;
}

const MOST = 256;

export function ThreadsDialog({ node, onClose }: Props) {
  const { data, error } = useQuery(proxiesQuery);
  const proxy = data?.find(({ uid }) => uid === node);
  return (
    <Modal opened onClose={onClose} title={`Proxy threads of node ${node}`} centered>
      {proxy ? (
        <Form proxy={proxy} onClose={onClose} />
      ) : error || data ? (
        <Alert color="red" role="alert">
          {error ? messageOf(error) : `Node ${node} has no proxy.`}
        </Alert>
      ) : (
        <Loader size="sm" />
      )}
    </Modal>
  );
}

function Form({ proxy, onClose }: { proxy: NodeProxy; onClose: () => void }) {
  const client = useQueryClient();
  const { data: node } = useNode(proxy.uid);
  const [threads, setThreads] = useState<number | string>(proxy.threads);
  const [most, setMost] = useState<number | string>(proxy.max_threads);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const wanted = { threads: Number(threads), max_threads: Number(most) };
  const within = (value: number) => Number.isInteger(value) && value >= 1 && value <= MOST;
  const tooMany = wanted.threads > wanted.max_threads;
  const valid = within(wanted.threads) && within(wanted.max_threads) && !tooMany;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!valid || busy) return;
    setBusy(true);
    setError(null);
    try {
      await updateProxy(proxy.uid, wanted);
      await Promise.all(
        [['proxies'], ['endpoint']].map((queryKey) => client.invalidateQueries({ queryKey })),
      );
      onClose();
    } catch (failure) {
      setError(messageOf(failure));
      setBusy(false);
    }
  };

  return (
    <form onSubmit={submit}>
      <Stack gap="sm">
        <span>
          The proxy serves all databases of the node. It changes the number while it runs:
          connections stay.
        </span>
        <NumberInput
          data-autofocus
          label="Threads"
          description={node?.cores ? `The machine has ${plural(node.cores, 'core')}.` : undefined}
          min={1}
          max={MOST}
          value={threads}
          onChange={setThreads}
          error={tooMany && 'More than the maximum below'}
        />
        <NumberInput
          label="Maximum"
          description="As many as may ever be asked for."
          min={1}
          max={MOST}
          value={most}
          onChange={setMost}
        />
        {error && (
          <Alert color="red" role="alert">
            {error}
          </Alert>
        )}
        <Group justify="flex-end" gap="xs">
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" disabled={!valid} loading={busy}>
            Save
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
