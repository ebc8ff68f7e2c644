/** Orders a run: what it puts on which database, and what that will cost, asked of the console while it is filled in. */
import {
  Alert,
  Button,
  Checkbox,
  MultiSelect,
  NativeSelect,
  NumberInput,
  SegmentedControl,
  Stack,
  Textarea,
  TextInput,
} from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type FormEvent, useDeferredValue, useState } from 'react';
import { bdbsQuery } from '@/api/bdbs';
import { examineBenchmark, startBenchmark, understandLine } from '@/api/benchmarks';
import { messageOf } from '@/api/http';
import { nodesQuery } from '@/api/nodes';
import type { Benchmark } from '@/api/types';
import { format } from '@/lib/format';
import { duration } from '@/lib/time';
import { Card } from '@/ui/Card';
import { Facts } from '@/ui/Facts';
import { Refused } from '@/ui/Refused';
import { StatusIcon } from '@/ui/Status';
import { useSubmit } from '@/ui/useSubmit';
import classes from './benchmarks.module.css';
import { DrillFields } from './DrillFields';
import { EMPTY, faultOf, MEMTIER, OWN, orderOf, PRESETS, type RunDraft, type Tool } from './draft';
import { workloadWords } from './words';

const PATTERNS = [
  { value: 'R:R', label: 'Random' },
  { value: 'S:S', label: 'In turn' },
  { value: 'P:P', label: 'In turn, shared out' },
  { value: 'G:G', label: 'Gaussian' },
  { value: 'Z:Z', label: 'Zipf' },
];

interface Props {
  /** The database that is chosen at first. */
  bdb: number | undefined;
  onStarted: (run: Benchmark) => void;
}

export function NewRun({ bdb, onStarted }: Props) {
  const { data: bdbs = [] } = useQuery(bdbsQuery);
  const { data: nodes = [] } = useQuery(nodesQuery);
  const [draft, setDraft] = useState<RunDraft>({ ...EMPTY, bdb: bdb ?? null });
  const active = bdbs.filter(({ status }) => status === 'active');
  const chosen = { ...draft, bdb: draft.bdb ?? active[0]?.uid ?? null };
  const fault = faultOf(chosen);
  const others = nodes.filter((node) => node.memtier_version);
  const start = useSubmit(async () => onStarted(await startBenchmark(orderOf(chosen))));
  const change = (part: Partial<RunDraft>) => {
    setDraft((now) => ({ ...now, ...part }));
    start.forget();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!fault) start.submit();
  };
  return (
    <form onSubmit={submit} className={classes.form}>
      <div className={classes.stack}>
        <Card title="What to run">
          <Stack gap="sm">
            <div className={classes.actions} style={{ marginLeft: 0 }}>
              {PRESETS.map((preset) => (
                <Button
                  key={preset.label}
                  size="xs"
                  variant="default"
                  title={preset.what}
                  onClick={() => change(preset.draft)}
                >
                  {preset.label}
                </Button>
              ))}
            </div>
            <div className={classes.fields}>
              <TextInput
                label="Name"
                required
                maxLength={120}
                value={draft.name}
                onChange={(event) => change({ name: event.currentTarget.value })}
              />
              <NativeSelect
                label="Database"
                value={String(chosen.bdb ?? '')}
                onChange={(event) =>
                  change({ bdb: Number(event.currentTarget.value), drillShard: null })
                }
                data={active.map(({ uid, name }) => ({ value: String(uid), label: name }))}
              />
              <NumberInput
                label="Repetitions"
                description="Of the measured part"
                min={1}
                max={20}
                value={draft.repetitions}
                onChange={(value) => change({ repetitions: Number(value) || 1 })}
              />
              <MultiSelect
                label="Load nodes"
                description="Automatic: the console chooses"
                placeholder={draft.nodes.length ? '' : 'Automatic'}
                value={[...draft.nodes]}
                onChange={(value) => change({ nodes: value })}
                data={nodes.map(({ uid }) => ({ value: String(uid), label: `node ${uid}` }))}
              />
              {others.length > 0 && (
                <NativeSelect
                  label="Load generator"
                  description={`memtier_benchmark: on ${others.map(({ uid }) => `node ${uid}`).join(', ')}`}
                  value={draft.tool}
                  onChange={(event) => change({ tool: event.currentTarget.value as Tool })}
                  data={[OWN, MEMTIER]}
                />
              )}
            </div>
            <SegmentedControl
              aria-label="How the load is described"
              value={draft.how}
              onChange={(value) => change({ how: value as RunDraft['how'] })}
              data={[
                { value: 'fields', label: 'Describe the load' },
                { value: 'line', label: 'Paste a memtier line' },
              ]}
            />
            {draft.how === 'fields' ? (
              <LoadFields draft={draft} change={change} />
            ) : (
              <PastedLine draft={draft} change={change} />
            )}
          </Stack>
        </Card>
        <Card title="SLA">
          <div className={classes.fields}>
            <Limit
              label="Average at most"
              value={draft.averageMs}
              onChange={(value) => change({ averageMs: value })}
            />
            <Limit
              label="P99 at most"
              value={draft.p99Ms}
              onChange={(value) => change({ p99Ms: value })}
            />
          </div>
        </Card>
        <DrillFields draft={chosen} change={change} />
      </div>
      <Costs draft={chosen} fault={fault} change={change}>
        <Refused refusal={start.refusal} />
        <Button type="submit" loading={start.busy} disabled={fault !== undefined}>
          Start the run
        </Button>
      </Costs>
    </form>
  );
}

interface Part {
  draft: RunDraft;
  change: (part: Partial<RunDraft>) => void;
}

function LoadFields({ draft, change }: Part) {
  const number = (name: keyof RunDraft, label: string, min: number, max: number, more?: string) => (
    <NumberInput
      label={label}
      {...(more !== undefined && { description: more })}
      min={min}
      max={max}
      allowDecimal={false}
      thousandSeparator=" "
      value={draft[name] as number}
      onChange={(value) => change({ [name]: Number(value) || min })}
    />
  );
  return (
    <>
      <div className={classes.fields}>
        {number('threads', 'Threads', 1, 256)}
        {number('clients', 'Connections per thread', 1, 10_000)}
        {number('pipeline', 'Pipeline', 1, 10_000, 'Requests under way per connection')}
        <TextInput
          label="SET:GET"
          value={draft.ratio}
          onChange={(event) => change({ ratio: event.currentTarget.value })}
        />
        {number('dataSize', 'Value size (bytes)', 1, 536_870_912)}
        {number('keys', 'Keys', 1, 10_000_000_000)}
        <NativeSelect
          label="Order of keys"
          value={draft.pattern}
          onChange={(event) => change({ pattern: event.currentTarget.value })}
          data={PATTERNS}
        />
        {number('seconds', 'Duration (seconds)', 1, 604_800)}
        {number('rate', 'Rate (requests/s)', 0, 1_000_000_000, '0 = as many as possible')}
      </div>
      <Checkbox
        label="Write every key once before it is measured"
        checked={draft.populate}
        onChange={(event) => change({ populate: event.currentTarget.checked })}
      />
    </>
  );
}

function PastedLine({ draft, change }: Part) {
  const line = useDeferredValue(draft.line.trim());
  const { data, error } = useQuery({
    queryKey: ['benchmarks', 'understand', line],
    queryFn: ({ signal }) => understandLine(line, signal),
    enabled: line !== '',
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  });
  return (
    <>
      <Textarea
        label="Command line of memtier_benchmark"
        description="Host, port and password in it are ignored: the database is the one chosen above."
        autosize
        minRows={3}
        spellCheck={false}
        placeholder="memtier_benchmark --threads=4 --clients=50 --ratio=1:1 --data-size=500 --test-time=60"
        value={draft.line}
        error={line && error ? messageOf(error) : undefined}
        onChange={(event) => change({ line: event.currentTarget.value })}
      />
      {line && data && (
        <p className={classes.dim}>
          Understood: {workloadWords(data.workload)}.
          {data.ignored.length > 0 && ` Ignored: ${data.ignored.join(', ')}.`}
        </p>
      )}
    </>
  );
}

function Limit(props: {
  label: string;
  value: number | '';
  onChange: (value: number | '') => void;
}) {
  return (
    <NumberInput
      label={props.label}
      suffix=" ms"
      min={0.001}
      decimalScale={3}
      placeholder="no limit"
      value={props.value}
      onChange={(value) => props.onChange(value === '' ? '' : Number(value))}
    />
  );
}

function Costs(props: Part & { fault: string | undefined; children: React.ReactNode }) {
  const { draft, fault, change, children } = props;
  const order = useDeferredValue(
    JSON.stringify(orderOf({ ...draft, overwrite: false, passwordInArguments: false })),
  );
  const { data, error, isFetching } = useQuery({
    queryKey: ['benchmarks', 'preflight', order],
    queryFn: ({ signal }) => examineBenchmark(JSON.parse(order), signal),
    enabled: fault === undefined,
    retry: false,
    staleTime: 5_000,
    placeholderData: keepPreviousData,
  });
  const asked = new Set(data?.concerns.filter(({ blocks }) => blocks).map(({ agree }) => agree));
  return (
    <Card title="What it will do">
      <Stack gap="sm" aria-busy={isFetching}>
        {fault && <span className={classes.dim}>{fault}</span>}
        {!fault && error && (
          <Alert color="red" role="alert">
            {messageOf(error)}
          </Alert>
        )}
        {!fault && !error && data && (
          <>
            {data.phases.map((phase) => (
              <span key={phase.name}>
                <strong>{phase.name}</strong>: {workloadWords(phase.workload)}
              </span>
            ))}
            <Facts
              items={[
                [
                  'Takes',
                  data.seconds === null ? 'as long as the requests need' : duration(data.seconds),
                ],
                ['Keys written, at most', format('count', data.keys)],
                ['Memory of these keys', format('bytes', data.memory)],
                ['Keys in the database now', format('count', data.keys_present)],
                ['Load from', data.load_nodes.map((uid) => `node ${uid}`).join(', ')],
              ]}
            />
            {data.concerns.map((concern) => (
              <div key={concern.code} className={classes.concern}>
                <StatusIcon tone={concern.blocks ? 'broken' : 'attention'} />
                <span>{concern.description}</span>
              </div>
            ))}
            {asked.has('overwrite') && (
              <Checkbox
                label="Go on all the same"
                checked={draft.overwrite}
                onChange={(event) => change({ overwrite: event.currentTarget.checked })}
              />
            )}
            {asked.has('password_in_arguments') && (
              <Checkbox
                label="Show the password to everybody on the load nodes"
                checked={draft.passwordInArguments}
                onChange={(event) => change({ passwordInArguments: event.currentTarget.checked })}
              />
            )}
          </>
        )}
        {children}
      </Stack>
    </Card>
  );
}
