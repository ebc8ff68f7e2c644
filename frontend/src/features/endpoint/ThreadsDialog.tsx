/** Dialog for the number of threads of a node's proxy. */
import { Loader, Modal, NumberInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useNode } from '@/api/cluster/nodes';
import { proxiesQuery, updateProxy } from '@/api/databases/endpoints';
import { messageOf } from '@/api/http';
import type { NodeProxy } from '@/api/types';
import { plural } from '@/lib/format';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';

interface Props {
  node: number;
  onClose: () => void;
}

const MAX_THREADS = 256;

const titleOf = (node: number): string => `Proxy threads of node ${node}`;

export function ThreadsDialog({ node, onClose }: Props) {
  const { data, error } = useQuery(proxiesQuery);
  const proxy = data?.find(({ uid }) => uid === node);
  if (proxy) return <Form proxy={proxy} onClose={onClose} />;
  const missing =
    error || data ? { text: error ? messageOf(error) : `Node ${node} has no proxy.` } : undefined;
  return (
    <Modal opened onClose={onClose} title={titleOf(node)} centered>
      {missing ? <RequestError failure={missing} /> : <Loader size="sm" />}
    </Modal>
  );
}

function Form({ proxy, onClose }: { proxy: NodeProxy; onClose: () => void }) {
  const client = useQueryClient();
  const { data: node } = useNode(proxy.uid);
  const [threads, setThreads] = useState<number | string>(proxy.threads);
  const [maximum, setMaximum] = useState<number | string>(proxy.max_threads);
  const desired = { threads: Number(threads), max_threads: Number(maximum) };
  const inRange = (value: number) => Number.isInteger(value) && value >= 1 && value <= MAX_THREADS;
  const tooMany = desired.threads > desired.max_threads;
  const valid = inRange(desired.threads) && inRange(desired.max_threads) && !tooMany;

  const save = async () => {
    await updateProxy(proxy.uid, desired);
    await Promise.all(
      [['proxies'], ['endpoint']].map((queryKey) => client.invalidateQueries({ queryKey })),
    );
  };

  return (
    <SubmitDialog
      title={titleOf(proxy.uid)}
      action="Save"
      disabled={!valid}
      onConfirm={save}
      onClose={onClose}
    >
      <span>
        The proxy serves all databases of the node. The change takes effect while the proxy runs,
        and connections stay open.
      </span>
      <NumberInput
        data-autofocus
        label="Threads"
        description={node?.cores ? `The machine has ${plural(node.cores, 'core')}.` : undefined}
        min={1}
        max={MAX_THREADS}
        value={threads}
        onChange={setThreads}
        error={tooMany && 'Must not exceed the maximum below'}
      />
      <NumberInput
        label="Maximum"
        description="Upper limit for the number of threads of this proxy."
        min={1}
        max={MAX_THREADS}
        value={maximum}
        onChange={setMaximum}
      />
    </SubmitDialog>
  );
}
