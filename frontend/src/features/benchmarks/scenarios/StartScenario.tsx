/** Dialog that starts a scenario: scale, databases afterwards, load nodes, and a preview of the run. */
import { Button, Checkbox, Group, MultiSelect, NumberInput } from '@mantine/core';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { useDeferredValue, useState } from 'react';
import { nodesQuery } from '@/api/cluster/nodes';
import { messageOf } from '@/api/http';
import { preflightScenario, startScenario } from '@/api/scenarios';
import type { Scenario, ScenarioPreflight, ScenarioRun } from '@/api/types';
import { format } from '@/lib/format';
import { duration } from '@/lib/time';
import { Bytes } from '@/ui/Bytes';
import { Facts } from '@/ui/Facts';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { StatusIcon } from '@/ui/Status';
import benchmarkClasses from '../benchmarks.module.css';
import { Sentences } from './Sentences';
import classes from './scenarios.module.css';
import { partText, scaleText } from './scenarioText';

/** Limits of the scale that the console accepts. */
const MIN_SCALE = 1e-6;
const MAX_SCALE = 10;

interface Props {
  scenario: Scenario;
  /** The initial scale; by default the largest one that fits. */
  initialScale?: number;
  onStarted: (run: ScenarioRun) => void;
  onClose: () => void;
}

export function StartScenario({ scenario, initialScale, onStarted, onClose }: Props) {
  const fitting = scenario.fit.scale;
  // A text while a decimal is being typed.
  const [input, setInput] = useState<number | string>(initialScale ?? (fitting || 1));
  const scale = Number(input);
  const [keep, setKeep] = useState(false);
  const [nodes, setNodes] = useState<string[]>([]);
  const { data: allNodes = [] } = useQuery(nodesQuery);
  const client = useQueryClient();
  const isValid = scale >= MIN_SCALE && scale <= MAX_SCALE;
  const size = { scale: isValid ? scale : 1, keep, load_nodes: nodes.map(Number) };
  const preview = usePreview(scenario.name, size, isValid);
  const start = async () => {
    const run = await startScenario({ scenario: scenario.name, ...size });
    await client.invalidateQueries({ queryKey: ['scenario-runs'] });
    onStarted(run);
  };
  return (
    <SubmitDialog
      title={`Run ${scenario.title}`}
      action="Start run"
      size="lg"
      disabled={!isValid || !preview.canStart}
      onConfirm={start}
      onClose={onClose}
    >
      <NumberInput
        label="Scale"
        {...(isValid
          ? { description: capitalized(scaleText(scale)) }
          : { error: `Enter ${MIN_SCALE.toFixed(6)} to ${MAX_SCALE}.` })}
        data-autofocus
        min={MIN_SCALE}
        max={MAX_SCALE}
        clampBehavior="none"
        hideControls
        value={input}
        onChange={setInput}
      />
      <Group gap="xs">
        {fitting > 0 && (
          <ScaleButton scale={fitting} current={scale} onSelect={setInput}>
            Fits this cluster
          </ScaleButton>
        )}
        {fitting !== 1 && (
          <ScaleButton scale={1} current={scale} onSelect={setInput}>
            Published size
          </ScaleButton>
        )}
      </Group>
      <MultiSelect
        label="Load nodes"
        description="If empty, the console selects nodes automatically"
        placeholder={nodes.length ? '' : 'Automatic'}
        value={nodes}
        onChange={setNodes}
        data={allNodes.map(({ uid }) => ({ value: String(uid), label: `node ${uid}` }))}
      />
      <Checkbox
        label="Keep the databases after the run"
        checked={keep}
        onChange={(event) => setKeep(event.currentTarget.checked)}
      />
      <section className={classes.preview} aria-label="Preview" aria-busy={preview.isLoading}>
        {preview.error && (
          <p className={benchmarkClasses.concern} role="alert">
            <StatusIcon tone="broken" />
            <span>{preview.error}</span>
          </p>
        )}
        {preview.data && <Preview plan={preview.data} />}
        {!preview.data && !preview.error && <p className="dim">Checking the cluster…</p>}
      </section>
    </SubmitDialog>
  );
}

function ScaleButton(props: {
  scale: number;
  current: number;
  onSelect: (scale: number) => void;
  children: string;
}) {
  const { scale, current, onSelect, children } = props;
  return (
    <Button
      size="compact-xs"
      variant={scale === current ? 'filled' : 'default'}
      aria-pressed={scale === current}
      title={capitalized(scaleText(scale))}
      onClick={() => onSelect(scale)}
    >
      {children}
    </Button>
  );
}

function usePreview(
  name: string,
  size: { scale: number; keep: boolean; load_nodes: number[] },
  enabled: boolean,
) {
  const current = JSON.stringify(size);
  const payload = useDeferredValue(current);
  const { data, error, isFetching, isPlaceholderData } = useQuery({
    queryKey: ['scenario-preflight', name, payload],
    queryFn: ({ signal }) => preflightScenario(name, JSON.parse(payload), signal),
    enabled,
    retry: false,
    staleTime: 5_000,
    placeholderData: keepPreviousData,
  });
  const isCurrent = payload === current && !isPlaceholderData && data !== undefined && !error;
  return {
    data: error ? undefined : data,
    error: enabled && error ? messageOf(error) : undefined,
    isLoading: isFetching,
    canStart: isCurrent && data.problems.length === 0,
  };
}

function Preview({ plan }: { plan: ScenarioPreflight }) {
  return (
    <>
      {plan.problems.map(({ code, description }) => (
        <div key={code + description} className={benchmarkClasses.concern}>
          <StatusIcon tone="broken" />
          <span>{description}</span>
        </div>
      ))}
      <Facts
        items={[
          ['Duration', duration(plan.seconds)],
          ['Memory', <Bytes key="memory" value={plan.memory} />],
          ...(plan.flash ? ([['Flash', <Bytes key="flash" value={plan.flash} />]] as const) : []),
          ['Keys written (maximum)', format('count', plan.keys)],
          ['Load nodes', plan.load_nodes.map((uid) => `node ${uid}`).join(', ')],
        ]}
      />
      <h3>Parts</h3>
      <ol className={classes.sentences}>
        {plan.parts.map((part) => (
          <li key={part.name}>
            <strong>{part.name}</strong>: {partText(part)}
          </li>
        ))}
      </ol>
      {plan.deviations.length > 0 && (
        <>
          <h3>Deviations from the document</h3>
          <Sentences sentences={plan.deviations} />
        </>
      )}
    </>
  );
}

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
