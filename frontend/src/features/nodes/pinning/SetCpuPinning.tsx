/** Dialog that sets the cores on which the processes of a node run. */
import { NumberInput, Radio, Stack, TextInput } from '@mantine/core';
import { useState } from 'react';
import { updateNode } from '@/api/cluster/nodes';
import type { CpuPinning, Node } from '@/api/types';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { coresText } from './cpuPinning';

const MODES: Record<CpuPinning['mode'], [label: string, description: string]> = {
  off: ['All cores', 'The kernel chooses the cores.'],
  numa: ['One NUMA node per shard', 'NUMA nodes get the same number of shards.'],
  cores: ['Chosen cores', 'Shards and the proxy run on the cores that you enter.'],
};

export function SetCpuPinning({ node, onClose }: { node: Node; onClose: () => void }) {
  const [setting, setSetting] = useState<CpuPinning>(node.cpu_pinning);
  const change = (changes: Partial<CpuPinning>) => setSetting({ ...setting, ...changes });
  const { mode, shards, proxy, cores_per_shard: size } = setting;
  return (
    <SubmitDialog
      title={`CPU pinning of node ${node.uid}`}
      action="Set pinning"
      onConfirm={() => updateNode(node.uid, { cpu_pinning: applicable(setting) })}
      onClose={onClose}
    >
      {(error) => (
        <>
          <span>
            The agent applies the setting to running processes without a restart. Cores of the node:{' '}
            {coresText(node)}.
          </span>
          <Radio.Group
            label="Shards run on"
            value={mode}
            onChange={(value) => change({ mode: value as CpuPinning['mode'] })}
          >
            <Stack gap={6} mt={6}>
              {Object.entries(MODES).map(([value, [label, description]]) => (
                <Radio key={value} value={value} label={label} description={description} />
              ))}
            </Stack>
          </Radio.Group>
          {mode === 'cores' && (
            <>
              <TextInput
                label="Cores of shards"
                description="For example 0-3,8. If empty, shards can use all cores."
                value={shards}
                error={error('cpu_pinning.shards')}
                onChange={(event) => change({ shards: event.currentTarget.value })}
              />
              <NumberInput
                label="Cores per shard"
                description="Each shard runs on its own group of cores. If 0, shards share the cores."
                value={size}
                min={0}
                allowDecimal={false}
                error={error('cpu_pinning.cores_per_shard')}
                onChange={(value) => change({ cores_per_shard: Number(value) })}
              />
            </>
          )}
          {mode !== 'off' && (
            <TextInput
              label="Cores of the proxy"
              description={
                mode === 'numa'
                  ? 'Shards do not use these cores. If empty, the proxy can use all cores.'
                  : 'If empty, the proxy can use all cores.'
              }
              value={proxy}
              error={error('cpu_pinning.proxy')}
              onChange={(event) => change({ proxy: event.currentTarget.value })}
            />
          )}
        </>
      )}
    </SubmitDialog>
  );
}

/** Return the setting without values of fields that the mode hides. */
const applicable = ({ mode, ...fields }: CpuPinning): CpuPinning => ({
  mode,
  shards: mode === 'cores' ? fields.shards : '',
  proxy: mode === 'off' ? '' : fields.proxy,
  cores_per_shard: mode === 'cores' ? fields.cores_per_shard : 0,
});
