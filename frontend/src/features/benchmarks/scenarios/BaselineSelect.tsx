/** Selection of the run that a scenario run is compared with, for documents that compare two drives. */
import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { isOpenScenarioRun, scenarioRunsQuery, scenariosQuery } from '@/api/scenarios';
import type { ScenarioRun } from '@/api/types';
import { formatDateTime } from '@/lib/time';
import { useZone } from '@/ui/useZone';
import classes from './scenarios.module.css';
import { scaleShare } from './scenarioText';

/** Kind of the results whose documents compare two runs. */
const COMPARED_RESULT = 'hit_ratio';

interface Props {
  run: ScenarioRun;
  baseline: number | undefined;
  onBaseline: (uid: number | undefined) => void;
}

export function BaselineSelect({ run, baseline, onBaseline }: Props) {
  const zone = useZone();
  const { data: scenarios = [] } = useQuery(scenariosQuery);
  const { data: runs = [] } = useQuery(scenarioRunsQuery);
  const isCompared = scenarios.some(
    ({ name, result }) => name === run.scenario && result === COMPARED_RESULT,
  );
  const others = runs.filter(
    (other) =>
      other.uid !== run.uid && other.scenario === run.scenario && !isOpenScenarioRun(other),
  );
  if (!isCompared || others.length === 0) return null;
  return (
    <NativeSelect
      label="Compare with"
      description="Adds the improvement factors of this run over the selected one"
      className={classes.baseline ?? ''}
      // The baseline can have been deleted.
      value={others.some(({ uid }) => uid === baseline) ? baseline : ''}
      onChange={(event) => onBaseline(Number(event.currentTarget.value) || undefined)}
      data={[
        { value: '', label: 'None' },
        ...others.map(({ uid, scale, created_time }) => ({
          value: String(uid),
          label: `Run ${uid} of ${formatDateTime(Date.parse(created_time), zone)}, scale ${scaleShare(scale)}`,
        })),
      ]}
    />
  );
}
