/**
 * Form for a new run, with a preview of the effects that the console computes while the form is
 * filled in.
 */
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
import { preflightBenchmark, startBenchmark } from '@/api/benchmarks';
import { nodesQuery } from '@/api/cluster/nodes';
import { keptBdbsQuery } from '@/api/databases/bdbs';
import { messageOf } from '@/api/http';
import type { Benchmark } from '@/api/types';
import { format } from '@/lib/format';
import { duration } from '@/lib/time';
import { Bytes } from '@/ui/Bytes';
import { Card } from '@/ui/Card';
import { Facts } from '@/ui/Facts';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import { StatusIcon } from '@/ui/Status';
import classes from '../benchmarks.module.css';
import { foreignKeysText, workloadText } from '../runText';
import { searchOf, searchText } from '../search/findMax';
import { DrillFields } from './DrillFields';
import { FillOffer } from './FillOffer';
import { FindMaxFields } from './FindMaxFields';
import { PastedCommand } from './PastedCommand';
import { draftOf } from './repeatedRun';
import {
  BUILT_IN_TOOL,
  benchmarkRequest,
  draftError,
  EMPTY_RUN_DRAFT,
  MEMTIER,
  PRESETS,
  type RunDraft,
  type Tool,
  withPreset,
} from './runDraft';
import { useCommandLine } from './useCommandLine';

const PATTERNS = [
  { value: 'R:R', label: 'Random' },
  { value: 'S:S', label: 'Sequential' },
  { value: 'P:P', label: 'Sequential, partitioned' },
  { value: 'G:G', label: 'Gaussian' },
  { value: 'Z:Z', label: 'Zipf' },
];

interface Props {
  /** The initially selected database. */
  bdb: number | undefined;
  /** A run whose settings the form starts with. */
  repeated?: Benchmark | undefined;
  onStarted: (run: Benchmark) => void;
}

export function NewRun({ bdb, repeated, onStarted }: Props) {
  const { data: bdbs = [] } = useQuery(keptBdbsQuery);
  const { data: nodes = [] } = useQuery(nodesQuery);
  const [draft, setDraft] = useState<RunDraft>(() =>
    repeated ? draftOf(repeated) : { ...EMPTY_RUN_DRAFT, bdb: bdb ?? null },
  );
  const active = bdbs.filter(({ status }) => status === 'active');
  // The database of a run that is repeated can be deleted or inactive now.
  const isActive = active.some(({ uid }) => uid === draft.bdb);
  // An agreement applies to one database.
  const noAgreement = { overwrite: false, passwordInArguments: false };
  const replaced = isActive || draft.bdb === null ? {} : noAgreement;
  const chosen = {
    ...draft,
    ...replaced,
    bdb: isActive ? draft.bdb : (active[0]?.uid ?? null),
  };
  const commandLine = useCommandLine(draft.line);
  const validationError =
    draftError(chosen) ?? (draft.inputMode === 'line' ? commandLine.problem : undefined);
  const selectedPreset = PRESETS.find(({ label }) => label === draft.preset);
  const memtierNodes = nodes.filter((node) => node.memtier_version);
  const start = useSubmit(async () => onStarted(await startBenchmark(benchmarkRequest(chosen))));
  const change = (part: Partial<RunDraft>) => {
    const reset = 'bdb' in part && part.bdb !== chosen.bdb ? noAgreement : {};
    setDraft((now) => ({ ...now, ...replaced, bdb: chosen.bdb, ...part, ...reset }));
    start.clear();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (!validationError) start.submit();
  };
  return (
    <form onSubmit={submit} className={classes.form}>
      <div className={classes.stack}>
        <Card title="Workload">
          <Stack gap="sm">
            <div className={classes.actions} style={{ marginLeft: 0 }}>
              {PRESETS.map((preset) => (
                <Button
                  key={preset.label}
                  size="xs"
                  variant={preset.label === draft.preset ? 'filled' : 'default'}
                  aria-pressed={preset.label === draft.preset}
                  title={preset.description}
                  onClick={() => change(withPreset(chosen, preset, active))}
                >
                  {preset.label}
                </Button>
              ))}
            </div>
            {selectedPreset && (
              <p className={classes.dim}>
                {selectedPreset.description}
                {selectedPreset.flash &&
                  !active.some(({ bigstore }) => bigstore) &&
                  ' No database on flash is active.'}
              </p>
            )}
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
                description="Number of times the measured phase is run"
                min={1}
                max={20}
                disabled={draft.findMax !== ''}
                value={draft.repetitions}
                onChange={(value) => change({ repetitions: Number(value) || 1 })}
              />
              <MultiSelect
                label="Load nodes"
                description="If empty, the console selects nodes automatically"
                placeholder={draft.nodes.length ? '' : 'Automatic'}
                value={[...draft.nodes]}
                onChange={(value) => change({ nodes: value })}
                data={nodes.map(({ uid }) => ({ value: String(uid), label: `node ${uid}` }))}
              />
              {memtierNodes.length > 0 && (
                <NativeSelect
                  label="Load generator"
                  description={`memtier_benchmark is available on ${memtierNodes.map(({ uid }) => `node ${uid}`).join(', ')}`}
                  value={draft.tool}
                  onChange={(event) => change({ tool: event.currentTarget.value as Tool })}
                  data={[BUILT_IN_TOOL, MEMTIER]}
                />
              )}
            </div>
            <SegmentedControl
              aria-label="Workload input"
              value={draft.inputMode}
              onChange={(value) => change({ inputMode: value as RunDraft['inputMode'] })}
              data={[
                { value: 'fields', label: 'Fields' },
                { value: 'line', label: 'memtier command' },
                ...(draft.phases ? [{ value: 'phases', label: 'Phases as JSON' }] : []),
              ]}
            />
            {draft.inputMode === 'fields' && <LoadFields draft={draft} change={change} />}
            {draft.inputMode === 'line' && (
              <PastedCommand
                line={draft.line}
                parsed={commandLine.parsed}
                problem={commandLine.problem}
                onChange={(line) => change({ line })}
              />
            )}
            {draft.inputMode === 'phases' && (
              <Textarea
                label="Phases"
                description="Executed one after another. The last phase is measured and repeated."
                autosize
                maxRows={30}
                spellCheck={false}
                value={draft.phases}
                onChange={(event) => change({ phases: event.currentTarget.value })}
              />
            )}
          </Stack>
        </Card>
        <FindMaxFields draft={chosen} change={change} />
        <Card title="SLA">
          <div className={classes.fields}>
            <Limit
              label="Maximum average latency"
              value={draft.averageMs}
              onChange={(value) => change({ averageMs: value })}
            />
            <Limit
              label="Maximum P99 latency"
              value={draft.p99Ms}
              onChange={(value) => change({ p99Ms: value })}
            />
          </div>
        </Card>
        <DrillFields draft={chosen} change={change} />
      </div>
      <Preview draft={chosen} validationError={validationError} change={change}>
        <RequestError failure={start.failure} />
        <SubmitButton type="submit" loading={start.busy} disabled={validationError !== undefined}>
          Start run
        </SubmitButton>
      </Preview>
    </form>
  );
}

interface SectionProps {
  draft: RunDraft;
  change: (part: Partial<RunDraft>) => void;
}

function LoadFields({ draft, change }: SectionProps) {
  const number = (
    name: keyof RunDraft,
    label: string,
    min: number,
    max: number,
    description?: string,
  ) => (
    <NumberInput
      label={label}
      {...(description !== undefined && { description })}
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
        {number('pipeline', 'Pipeline', 1, 10_000, 'Outstanding requests per connection')}
        <TextInput
          label="SET:GET"
          value={draft.ratio}
          onChange={(event) => change({ ratio: event.currentTarget.value })}
        />
        {number('dataSize', 'Value size (bytes)', 1, 536_870_912)}
        {number('keys', 'Keys', 1, 10_000_000_000)}
        <NativeSelect
          label="Key pattern"
          value={draft.pattern}
          onChange={(event) => change({ pattern: event.currentTarget.value })}
          data={PATTERNS}
        />
        {number('seconds', 'Duration (seconds)', 1, 604_800)}
        {draft.findMax === '' &&
          number('rate', 'Rate (requests/s)', 0, 1_000_000_000, '0 = unlimited')}
      </div>
      <Checkbox
        label="Write all keys once before the measurement"
        checked={draft.populate}
        onChange={(event) => change({ populate: event.currentTarget.checked })}
      />
      <Checkbox
        label="Verify values"
        description="Each value is derived from its key and checked when it is read. Wrong values are errors."
        checked={draft.verify}
        onChange={(event) => change({ verify: event.currentTarget.checked })}
      />
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

function Preview(
  props: SectionProps & { validationError: string | undefined; children: React.ReactNode },
) {
  const { draft, validationError, change, children } = props;
  const payload = useDeferredValue(
    JSON.stringify(benchmarkRequest({ ...draft, overwrite: false, passwordInArguments: false })),
  );
  const { data, error, isFetching } = useQuery({
    queryKey: ['benchmarks', 'preflight', payload],
    queryFn: ({ signal }) => preflightBenchmark(JSON.parse(payload), signal),
    enabled: validationError === undefined,
    retry: false,
    staleTime: 5_000,
    placeholderData: keepPreviousData,
  });
  const confirmations = new Set(
    data?.concerns.filter(({ blocks }) => blocks).map(({ agree }) => agree),
  );
  return (
    <Card title="Preview">
      <Stack gap="sm" aria-busy={isFetching}>
        {validationError && <span className={classes.dim}>{validationError}</span>}
        {!validationError && error && (
          <Alert color="red" role="alert">
            {messageOf(error)}
          </Alert>
        )}
        {!validationError && !error && data && (
          <>
            {data.phases.map((phase) => (
              <span key={phase.name}>
                <strong>{phase.name}</strong>: {phase.find_max && `${searchText(phase.find_max)}: `}
                {workloadText(phase.workload)}
              </span>
            ))}
            <Facts
              items={[
                [
                  'Duration',
                  data.seconds === null
                    ? searchOf(data)
                      ? 'until the search ends'
                      : 'until all requests are done'
                    : `${searchOf(data) ? 'about ' : ''}${duration(data.seconds)}`,
                ],
                ['Keys written (maximum)', format('count', data.keys)],
                ['Memory for these keys', <Bytes key="memory" value={data.memory} />],
                ['Current keys in the database', format('count', data.keys_present)],
                ['Keys of applications', foreignKeysText(data.key_sample)],
                ['Load nodes', data.load_nodes.map((uid) => `node ${uid}`).join(', ')],
              ]}
            />
            {draft.inputMode === 'fields' && (
              <FillOffer fill={data.fill} keys={draft.keys} onUse={(keys) => change({ keys })} />
            )}
            {data.concerns.map((concern) => (
              <div key={concern.code} className={classes.concern}>
                <StatusIcon tone={concern.blocks ? 'broken' : 'attention'} />
                <span>{concern.description}</span>
              </div>
            ))}
            {confirmations.has('overwrite') && (
              <Checkbox
                label="Start anyway"
                description="Applications of this database can be affected"
                checked={draft.overwrite}
                onChange={(event) => change({ overwrite: event.currentTarget.checked })}
              />
            )}
            {confirmations.has('password_in_arguments') && (
              <Checkbox
                label="Allow users on the load nodes to read the password"
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
