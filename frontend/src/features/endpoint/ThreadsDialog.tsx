/** How many threads the proxy of a node has. It serves all databases of that node. */
import { Loader, Modal, NumberInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { proxiesQuery, updateProxy } from '@/api/endpoints';
import { messageOf } from '@/api/http';
import { useNode } from '@/api/nodes';
import type { NodeProxy } from '@/api/types';
import { plural } from '@/lib/format';
import { Ask } from '@/ui/Ask';
import { Refused } from '@/ui/Refused';

interface Props {
  node: number;
  onClose: () => void;
}

const MOST = 256;

const titleOf = (node: number): string => `Proxy threads of node ${node}`;

export function ThreadsDialog({ node, onClose }: Props) {
  const { data, error } = useQuery(proxiesQuery);
  const proxy = data?.find(({ uid }) => uid === node);
  if (proxy) return <Form proxy={proxy} onClose={onClose} />;
  const missing =
    error || data ? { text: error ? messageOf(error) : `Node ${node} has no proxy.` } : undefined;
  return (
    <Modal opened onClose={onClose} title={titleOf(node)} centered>
      {missing ? <Refused refusal={missing} /> : <Loader size="sm" />}
    </Modal>
  );
}

function Form({ proxy, onClose }: { proxy: NodeProxy; onClose: () => void }) {
  const client = useQueryClient();
  const { data: node } = useNode(proxy.uid);
  const [threads, setThreads] = useState<number | string>(proxy.threads);
  const [most, setMost] = useState<number | string>(proxy.max_threads);
  const wanted = { threads: Number(threads), max_threads: Number(most) };
  const within = (value: number) => Number.isInteger(value) && value >= 1 && value <= MOST;
  const tooMany = wanted.threads > wanted.max_threads;
  const valid = within(wanted.threads) && within(wanted.max_threads) && !tooMany;

  const save = async () => {
    await updateProxy(proxy.uid, wanted);
    await Promise.all(
      [['proxies'], ['endpoint']].map((queryKey) => client.invalidateQueries({ queryKey })),
    );
  };

  return (
    <Ask
      title={titleOf(proxy.uid)}
      action="Save"
      disabled={!valid}
      onConfirm={save}
      onClose={onClose}
    >
      <span>
        The proxy serves all databases of the node. It changes the number while it runs: connections
        stay.
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
    </Ask>
  );
}
