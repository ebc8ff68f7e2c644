/** API of scenarios: the library of published benchmarks, and runs of them. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from './http';
import type {
  Scenario,
  ScenarioPreflight,
  ScenarioRun,
  ScenarioRunCreate,
  ScenarioSize,
} from './types';

const LIBRARY = '/v1/scenarios';
const RUNS = '/v1/scenario_runs';
const POLL_MS = 1_000;
const IDLE_POLL_MS = 15_000;
/** The console searches for the largest scale of each scenario, which takes time. */
const LIBRARY_POLL_MS = 60_000;

export const isOpenScenarioRun = ({ status }: Pick<ScenarioRun, 'status'>) =>
  status === 'queued' || status === 'running';

/** The library. The scale that fits changes with the nodes and databases of the cluster. */
export const scenariosQuery = queryOptions({
  queryKey: ['scenarios'],
  queryFn: getQuery<Scenario[]>(LIBRARY),
  refetchInterval: LIBRARY_POLL_MS,
});

export const scenarioRunsQuery = queryOptions({
  queryKey: ['scenario-runs'],
  queryFn: getQuery<ScenarioRun[]>(RUNS),
  refetchInterval: ({ state }) => (state.data?.some(isOpenScenarioRun) ? POLL_MS : IDLE_POLL_MS),
});

/** A run, with the tables that compare it with `baseline`, another run of the same scenario. */
export const scenarioRunQuery = (uid: number, baseline?: number) =>
  queryOptions({
    queryKey: ['scenario-runs', uid, ...(baseline ? [baseline] : [])],
    queryFn: getQuery<ScenarioRun>(`${RUNS}/${uid}${baseline ? `?baseline=${baseline}` : ''}`),
    refetchInterval: ({ state }) =>
      state.data && !isOpenScenarioRun(state.data) ? false : POLL_MS,
  });

export const preflightScenario = (name: string, size: ScenarioSize, signal: AbortSignal) =>
  request<ScenarioPreflight>('POST', `${LIBRARY}/${name}/preflight`, size, signal);

export const startScenario = (body: ScenarioRunCreate) => request<ScenarioRun>('POST', RUNS, body);

export const stopScenarioRun = (uid: number) =>
  request<ScenarioRun>('POST', `${RUNS}/${uid}/stop`, {});

export const deleteScenarioRun = (uid: number) => request<unknown>('DELETE', `${RUNS}/${uid}`);

export const scenarioReportPath = (uid: number, format: string, baseline?: number) =>
  `${RUNS}/${uid}/report?format=${format}${baseline ? `&baseline=${baseline}` : ''}`;
